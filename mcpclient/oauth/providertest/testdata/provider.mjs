// An authorization server for the test beside this folder: it registers every client, and lets anyone
// log in as ana. It prints its issuer, and ends with its standard input.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const settings = JSON.parse(process.argv[2]);

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig' }] },
    clients: settings.clients,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { clientAuthSigningAlgValues: ['ES256', 'RS256', 'EdDSA', 'Ed25519'] },
    cookies: { keys: ['a key of the test'] },
    scopes: ['openid', 'offline_access'],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'read write',
          audience: resource,
          accessTokenTTL: settings.lifetime,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  const answer = provider.callback();
  server.on('request', async (req, res) => {
    if (!req.url.startsWith('/interaction/')) {
      answer(req, res);
      return;
    }
    const { prompt, params } = await provider.interactionDetails(req, res);
    if (prompt.name === 'login') {
      await provider.interactionFinished(req, res, { login: { accountId: 'ana' } });
      return;
    }
    const { session } = await provider.interactionDetails(req, res);
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? '');
    grant.addResourceScope(params.resource, params.scope ?? '');
    await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
  });
  console.log(issuer);
});
process.stdin.on('end', () => process.exit()).resume();
