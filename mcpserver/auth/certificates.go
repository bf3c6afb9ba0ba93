package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Certificates accepts the certificates that some authorities have issued, of clients without a token.
type Certificates struct {
	Pool *x509.CertPool // of the authorities, for tls.Config.ClientCAs

	roots      map[[sha256.Size]byte]bool
	credential string
}

// NewCertificates returns an Authenticator for the authorities in a PEM file.
func NewCertificates(authorities []byte) (*Certificates, error) {
	c := &Certificates{Pool: x509.NewCertPool(), roots: map[[sha256.Size]byte]bool{}}
	c.credential = fmt.Sprintf("certificate %x", sha256.Sum256(authorities))
	for rest := authorities; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		root, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		c.Pool.AddCert(root)
		c.roots[sha256.Sum256(root.Raw)] = true
	}
	if len(c.roots) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return c, nil
}

// Authenticate implements Authenticator. A connection may be older than the authorities.
func (a *Certificates) Authenticate(_ context.Context, c *Credentials) (*Identity, error) {
	if c.Token != "" || len(c.Chain) == 0 {
		return nil, nil
	}
	own := c.Chain[0]
	switch {
	case !a.roots[sha256.Sum256(c.Chain[len(c.Chain)-1].Raw)]:
		return nil, &Refusal{Reason: "the TLS client certificate is of an authority that is no longer accepted"}
	case expired(own.NotAfter):
		return nil, &Refusal{Reason: "the TLS client certificate has expired"}
	case own.Subject.String() == "":
		return nil, &Refusal{Reason: "the TLS client certificate has no subject"}
	}
	claims, err := json.Marshal(map[string]any{"sub": own.Subject.String(), "cn": own.Subject.CommonName, "ou": own.Subject.OrganizationalUnit})
	return &Identity{
		Principal: bridge.Principal{Name: "cert#" + own.Subject.String()}, Claims: string(claims),
		Expires: own.NotAfter, Credential: a.credential,
	}, err
}

// Admits implements Authenticator.
func (a *Certificates) Admits(credential string) bool { return credential == a.credential }

// Several implements Authenticator.
func (a *Certificates) Several() bool { return true }
