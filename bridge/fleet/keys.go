package fleet

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// minSecret is the least length of a secret, in bytes: `openssl rand -base64 32` makes 44.
const minSecret = 32

// Keys are what the nodes of one cluster have in common: what one node has sealed any other opens, and
// whoever has them is a node. Their methods may be called at once.
type Keys struct {
	seals []cipher.AEAD // the first one seals, all open
	certs []tls.Certificate
	roots *x509.CertPool
}

// NewKeys derives keys from the name of a cluster and its secrets, the current one first. To replace it, all nodes get the
// new one behind it, then before it, and lose the old one when what that has sealed has expired. A secret needs 32 bytes that nobody can guess.
func NewKeys(cluster string, secrets []string) (*Keys, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no secret: make one with openssl rand -base64 32")
	}
	k := &Keys{roots: x509.NewCertPool()}
	for i, secret := range secrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("secret %d has %d bytes: it needs %d that nobody can guess, as openssl rand -base64 32 makes them", i+1, len(secret), minSecret)
		}
		if err := k.add(cluster, secret); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// derive returns a key for a purpose of a cluster.
func derive(cluster, secret, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), []byte(cluster), "mcpbridge "+purpose, 32)
}

// Digest returns what stands for a text among the nodes of a cluster, whose current secret it is given. It tells nobody
// else anything of the text, nor of the secret.
func Digest(cluster, secret, text string) string {
	key, err := derive(cluster, secret, "digests")
	if err != nil {
		panic(err) // only for another size
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// add derives from a secret the key of what is sealed, and the authority that certifies nodes.
func (k *Keys) add(cluster, secret string) error {
	sealing, err := derive(cluster, secret, "sealed ids")
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	seed, err := derive(cluster, secret, "authority of nodes")
	if err != nil {
		return err
	}
	authority, cert, err := certify(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return err
	}
	k.seals, k.certs = append(k.seals, seal), append(k.certs, cert)
	k.roots.AddCert(authority)
	return nil
}

// certify returns the certificate of an authority, which is the same for each node that has its key, and
// that of a node of this process.
func certify(key ed25519.PrivateKey) (*x509.Certificate, tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcpbridge"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	authority, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	sum := sha256.Sum256(key.Public().(ed25519.PublicKey))
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{hex.EncodeToString(sum[:8]) + ".mcpbridge"}, NotBefore: template.NotBefore, NotAfter: template.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if raw, err = x509.CreateCertificate(rand.Reader, leaf, authority, public, key); err != nil {
		return nil, tls.Certificate{}, err
	}
	leaf, err = x509.ParseCertificate(raw)
	return authority, tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private, Leaf: leaf}, err
}

// TLS returns the settings of a connection between nodes, for either end, on which both ends prove that they have a secret of the cluster. A
// client names the secret that it has first, and a server has a certificate of that one, or of its own first.
func (k *Keys) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: k.certs[0].Leaf.DNSNames[0], SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // verify does it, whatever the name
		VerifyConnection: k.verify,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			i := slices.IndexFunc(k.certs, func(c tls.Certificate) bool { return c.Leaf.DNSNames[0] == hello.ServerName })
			return &k.certs[max(i, 0)], nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &k.certs[0], nil },
	}
}

// verify checks that the other end of a connection is a node.
func (k *Keys) verify(state tls.ConnectionState) error {
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: k.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return fmt.Errorf("the other node has another secret than this one (cluster.secrets): %w", err)
	}
	return nil
}

// refusedLink names the likely cause of an error of a handshake, or of a link after it, that the other end has refused.
func refusedLink(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return fmt.Errorf("the other node refuses this one, as of another secret (cluster.secrets): %w", op)
	}
	return err
}

// errForeign is the error of an id that no node of the cluster has sealed, or not for this purpose.
var errForeign = errors.New("not sealed by a node of this cluster")

// seal returns data as text that only nodes can read, and nobody can change. It is good for one purpose.
func (k *Keys) seal(purpose string, data []byte) string {
	seal := k.seals[0]
	out := make([]byte, 0, len(data)+seal.Overhead())
	return base64.RawURLEncoding.EncodeToString(seal.Seal(out, nil, data, []byte(purpose)))
}

// open returns the data of what seal has sealed for a purpose, and whether that was with another secret than the first.
func (k *Keys) open(purpose, sealed string) (data []byte, old bool, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != sealed { // of several spellings one counts
		return nil, false, errForeign
	}
	for i, seal := range k.seals {
		if data, err := seal.Open(nil, nil, raw, []byte(purpose)); err == nil {
			return data, i > 0, nil
		}
	}
	return nil, false, errForeign
}
