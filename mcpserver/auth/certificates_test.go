package auth_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

func issue(t *testing.T, name pkix.Name, until time.Time, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	key := newECDSA(t)
	made := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IsCA: parent == nil, BasicConstraintsValid: true}
	if parent == nil {
		parent, signer = made, key
	}
	der, err := x509.CreateCertificate(rand.Reader, made, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func encoded(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func TestCertificates(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	root, key := issue(t, pkix.Name{CommonName: "root"}, hour, nil, nil)
	other, _ := issue(t, pkix.Name{CommonName: "root"}, hour, nil, nil)
	ann, _ := issue(t, pkix.Name{CommonName: "ann", Organization: []string{"Example"}}, hour, root, key)
	old, _ := issue(t, pkix.Name{CommonName: "old"}, time.Now().Add(-time.Minute), root, key)
	nobody, _ := issue(t, pkix.Name{}, hour, root, key)
	accepted, err := auth.NewCertificates(encoded(root))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := auth.NewCertificates(encoded(other))
	if err != nil {
		t.Fatal(err)
	}
	id, err := accepted.Authenticate(t.Context(), &auth.Credentials{Chain: []*x509.Certificate{ann, root}})
	if err != nil || id.Principal.Name != "cert#CN=ann,O=Example" || !strings.Contains(id.Claims, `"cn":"ann"`) || !accepted.Admits(id.Credential) || replaced.Admits(id.Credential) {
		t.Errorf("ann is %+v, %v", id, err)
	}
	for _, c := range []struct {
		by   *auth.Certificates
		cert *x509.Certificate
	}{{replaced, ann}, {accepted, old}, {accepted, nobody}} {
		if id, err := c.by.Authenticate(t.Context(), &auth.Credentials{Chain: []*x509.Certificate{c.cert, root}}); id != nil || err == nil {
			t.Errorf("%s is %v", c.cert.Subject, id)
		}
	}
	for _, c := range []*auth.Credentials{{}, {Token: "x", Chain: []*x509.Certificate{ann, root}}} {
		if id, err := accepted.Authenticate(t.Context(), c); id != nil || err != nil {
			t.Errorf("got %v, %v for what is no certificate alone", id, err)
		}
	}
	if _, err := auth.NewCertificates([]byte("x")); err == nil {
		t.Error("a file without certificates")
	}
}
