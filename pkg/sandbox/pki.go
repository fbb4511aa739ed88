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
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is the lifetime of all certificates, longer than any sandbox runs.
const validity = 10 * 365 * 24 * time.Hour

// pki is the folder with all keys and certificates of a sandbox. The certificate authorities and the key for service
// account tokens stay the same while the folder exists; all other certificates are issued again at each start.
type pki struct {
	dir string
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newPKI creates the folder and the files that are missing in it.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	cluster, err := p.authority("ca", "sandbox")
	if err != nil {
		return nil, err
	}
	frontProxy, err := p.authority("front-proxy-ca", "sandbox-front-proxy")
	if err != nil {
		return nil, err
	}
	if _, err := p.loadOrCreateKey("sa"); err != nil {
		return nil, err
	}
	clients := map[string]pkix.Name{
		"admin":                  {CommonName: "sandbox-admin", Organization: []string{"system:masters"}},
		programControllerManager: {CommonName: "system:kube-controller-manager", Organization: []string{"system:masters"}},
		programScheduler:         {CommonName: "system:kube-scheduler", Organization: []string{"system:masters"}},
		programKwok:              {CommonName: "sandbox-kwok", Organization: []string{"system:masters"}},
	}
	for name, subject := range clients {
		if err := p.issue(cluster, name, clientTemplate(subject)); err != nil {
			return nil, err
		}
	}
	if err := p.issue(frontProxy, "front-proxy-client", clientTemplate(pkix.Name{CommonName: "front-proxy-client"})); err != nil {
		return nil, err
	}
	return p, p.issue(cluster, programAPIServer, serverTemplate())
}

func (p *pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }

func (p *pki) key(name string) string { return filepath.Join(p.dir, name+".key") }

func clientTemplate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// serverTemplate has all names and addresses of the API server; the last address is that of its Service.
func serverTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: programAPIServer},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)},
	}
}

// authority returns the certificate authority of that name, and creates it if it is missing.
func (p *pki) authority(name, commonName string) (*authority, error) {
	key, err := p.loadOrCreateKey(name)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(p.cert(name))
	if err == nil {
		block, _ := pem.Decode(content)
		if block == nil {
			return nil, fmt.Errorf("%s holds no certificate", p.cert(name))
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.cert(name), err)
		}
		return &authority{certificate: certificate, key: key}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	certificate, err := p.sign(template, name, &authority{certificate: template, key: key}, key)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key}, nil
}

// issue writes a new key and certificate of that name.
func (p *pki) issue(issuer *authority, name string, template *x509.Certificate) error {
	key, err := p.createKey(name)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	_, err = p.sign(template, name, issuer, key)
	return err
}

func (p *pki) sign(template *x509.Certificate, name string, issuer *authority, key crypto.Signer) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	if err := writePEM(p.cert(name), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (p *pki) loadOrCreateKey(name string) (crypto.Signer, error) {
	content, err := os.ReadFile(p.key(name))
	if errors.Is(err, fs.ErrNotExist) {
		return p.createKey(name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key", p.key(name))
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.key(name), err)
	}
	return key, nil
}

func (p *pki) createKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(p.key(name), "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
