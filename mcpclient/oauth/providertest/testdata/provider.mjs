// An authorization server for tests: it registers every client, and lets anyone log in as ana, who is of
// the group support. It exchanges its own access tokens for those of other resources. It prints its issuer. Then it carries out what each line of its standard input says,
// with a line when that is done, and ends with it:
//
//   rotate     signs with another key, and forgets the one before
//   clock N    its clock is N seconds ahead
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { jwtVerify } from 'jose';
import Provider, { errors } from 'oidc-provider';

const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const settings = JSON.parse(process.argv[2]);
const now = Date.now;

// Store keeps what the providers know, which all of them share.
const kept = new Map();
class Store {
  constructor(model) { this.model = model; }
  key(id) { return `${this.model} ${id}`; }
  async upsert(id, payload) { kept.set(this.key(id), payload); }
  async find(id) { return kept.get(this.key(id)); }
  async findByUid(uid) { return [...kept].find(([key, value]) => key.startsWith(this.model) && value.uid === uid)?.[1]; }
  async consume(id) { kept.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { kept.delete(this.key(id)); }
  async revokeByGrantId(grant) { kept.forEach((value, key) => value.grantId === grant && kept.delete(key)); }
}

// create returns a provider with a key of its own.
function create(issuer) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ format: 'jwk' });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig' }] },
    adapter: Store,
    clients: settings.clients,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { clientAuthSigningAlgValues: ['ES256', 'RS256', 'EdDSA', 'Ed25519'] },
    cookies: { keys: ['a key of the test'] },
    scopes: ['openid', 'offline_access'],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_, token) => (token.accountId ? { groups: ['support'] } : undefined),
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
  provider.registerGrantType(exchange, (ctx) => exchangeToken(provider, publicKey, ctx),
    ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope']);
  return provider;
}

// exchangeToken gives a token of the same account for another resource (RFC 8693).
async function exchangeToken(provider, key, ctx) {
  const { client, params } = ctx.oidc;
  let claims;
  try {
    claims = (await jwtVerify(params.subject_token, key, { issuer: provider.issuer })).payload;
  } catch {
    throw new errors.InvalidGrant('the subject_token is not valid');
  }
  const token = new provider.AccessToken({ client, accountId: claims.sub, scope: params.scope, gty: exchange });
  token.resourceServer = new provider.ResourceServer(params.resource, {
    audience: params.resource, accessTokenTTL: settings.lifetime, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
  });
  ctx.body = {
    access_token: await token.save(), issued_token_type: params.requested_token_type, token_type: 'Bearer', expires_in: token.expiration,
  };
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  let provider = create(issuer);
  let answer = provider.callback();
  server.on('request', async (req, res) => {
    if (!req.url.startsWith('/interaction/')) {
      answer(req, res);
      return;
    }
    const { prompt, params, session } = await provider.interactionDetails(req, res);
    if (prompt.name === 'login') {
      await provider.interactionFinished(req, res, { login: { accountId: 'ana' } });
      return;
    }
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? '');
    grant.addResourceScope(params.resource, params.scope ?? '');
    await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
  });
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [command, seconds] = line.split(' ');
    if (command === 'rotate') {
      provider = create(issuer);
      answer = provider.callback();
    } else {
      Date.now = () => now() + 1000 * Number(seconds);
    }
    console.log(line);
  }).on('close', () => process.exit());
  console.log(issuer);
});
