// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// Authority is a certificate authority that exists for one test.
type Authority struct {
	PEM  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key, PEM encoded.
type Pair struct{ Cert, Key []byte }

// Certificates are valid since so long ago, so that a clock may be set back by an hour or two.
const backdated = 4 * time.Hour

// NewAuthority makes a self-signed authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-backdated), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return &Authority{PEM: encode("CERTIFICATE", der), cert: must(x509.ParseCertificate(der))(t), key: key}
}

// Client issues a client certificate for a Kubernetes user; validity may be negative for one that has expired.
func (a *Authority) Client(t testing.TB, user string, groups []string, validity time.Duration) Pair {
	t.Helper()
	return a.issue(t, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: time.Now().Add(validity),
	})
}

// Server issues a serving certificate for DNS names and addresses.
func (a *Authority) Server(t testing.TB, names ...string) Pair {
	t.Helper()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "server"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotAfter: time.Now().Add(24 * time.Hour),
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.issue(t, template)
}

func (a *Authority) issue(t testing.TB, template *x509.Certificate) Pair {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template.SerialNumber = serial(t)
	template.NotBefore = time.Now().Add(-backdated)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))(t)
	return Pair{Cert: encode("CERTIFICATE", der), Key: encodeKey(t, key)}
}

// TLS is the pair as crypto/tls wants it.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	return must(tls.X509KeyPair(p.Cert, p.Key))(t)
}

// serviceAccountKey makes the key that signs service account tokens.
func serviceAccountKey(t testing.TB) []byte {
	t.Helper()
	return encodeKey(t, must(rsa.GenerateKey(rand.Reader, 2048))(t))
}

func encodeKey(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	return encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))(t))
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	return must(rand.Int(rand.Reader, big.NewInt(1<<62)))(t)
}

// must turns a call's error into the test's end: must(f())(t).
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func writeFile(t testing.TB, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
