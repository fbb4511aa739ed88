// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity of all certificates: long enough for data folders that are kept.
const validity = 10 * 365 * 24 * time.Hour

// pki is a folder with the certificates and keys of one sandbox. They are made once, so that tokens and kubeconfigs stay
// valid as long as the folder is kept.
type pki struct {
	dir string
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newPKI(dir string) (*pki, error) {
	if _, err := os.Stat(dir); err == nil {
		return &pki{dir: dir}, nil
	}
	p := &pki{dir: dir + ".new"}
	if err := os.RemoveAll(p.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	if err := p.fill(); err != nil {
		return nil, err
	}
	return &pki{dir: dir}, os.Rename(p.dir, dir)
}

func (p *pki) fill() error {
	if _, err := p.createKey("sa"); err != nil {
		return err
	}
	const masters = "system:masters"
	for _, signed := range []struct {
		authority string
		clients   map[string]pkix.Name
	}{
		{"ca", map[string]pkix.Name{
			"admin":                  {CommonName: "sandbox-admin", Organization: []string{masters}},
			programControllerManager: {CommonName: "system:kube-controller-manager", Organization: []string{masters}},
			programScheduler:         {CommonName: "system:kube-scheduler", Organization: []string{masters}},
			programKwok:              {CommonName: "sandbox-kwok", Organization: []string{masters}},
			programAPIServer:         {CommonName: programAPIServer},
		}},
		{"front-proxy-ca", map[string]pkix.Name{"front-proxy-client": {CommonName: "front-proxy-client"}}},
	} {
		issuer, err := p.issue(nil, signed.authority, pkix.Name{CommonName: "sandbox-" + signed.authority})
		if err != nil {
			return err
		}
		for name, subject := range signed.clients {
			if _, err := p.issue(issuer, name, subject); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }

func (p *pki) key(name string) string { return filepath.Join(p.dir, name+".key") }

// issue makes a key and a certificate: without an issuer that of an authority, otherwise one for clients or, with the
// names and addresses of the API server, for that.
func (p *pki) issue(issuer *authority, name string, subject pkix.Name) (*authority, error) {
	key, err := p.createKey(name)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	made := &authority{key: key, certificate: &x509.Certificate{
		Subject: subject, SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), KeyUsage: x509.KeyUsageDigitalSignature,
	}}
	switch template := made.certificate; {
	case issuer == nil:
		issuer = made
		template.KeyUsage |= x509.KeyUsageCertSign
		template.BasicConstraintsValid, template.IsCA = true, true
	case name == programAPIServer:
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)}
	default:
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, made.certificate, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	return made, os.WriteFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), 0o600)
}

func (p *pki) createKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(p.key(name), content, 0o600)
}
