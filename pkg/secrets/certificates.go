// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// CertificateOptions describe a certificate.
type CertificateOptions struct {
	// CommonName is the subject. Defaults to the first of DNSNames, and then to the name of the certificate.
	CommonName string
	// DNSNames and IPAddresses are the hosts of a server.
	DNSNames    []string
	IPAddresses []net.IP
	// Validity is how long the certificate is valid. Defaults to 90 days, at least one hour.
	Validity time.Duration
	// RenewBefore is how long before its end the certificate is renewed: at least 10 minutes, and less than the
	// validity. Defaults to a third of the validity.
	RenewBefore time.Duration
}

// AuthorityOptions describe a certificate authority.
type AuthorityOptions struct {
	// CommonName is the subject. Defaults to the name of the authority, followed by " CA".
	CommonName string
	// Validity and RenewBefore are as in CertificateOptions, with a default validity of 10 years. An authority keeps its
	// key, so certificates that it has signed earlier stay valid. RenewBefore must not be less than the validity of the
	// certificates that it signs.
	Validity, RenewBefore time.Duration
}

// KeyPair is a certificate with its key, in PEM.
type KeyPair struct {
	// CA is the certificate of the authority, Certificate the one of the server or client.
	CA, Certificate, PrivateKey []byte
}

// Authority is a certificate authority.
type Authority struct {
	source *Source
	name   string
	// signs is the longest validity of the certificates that it may sign.
	signs  time.Duration
	key    *ecdsa.PrivateKey
	parsed *x509.Certificate
	pem    []byte
}

// Certificate returns the certificate of the authority, in PEM.
func (a *Authority) Certificate() []byte { return a.pem }

// skew is how long before its period a certificate is valid, because clocks differ.
const skew = 10 * time.Minute

// maxCommonName is the maximum length of a common name (RFC 5280).
const maxCommonName = 64

// period returns the number of the present period of a certificate, and its limits. Each period begins when the
// certificate of the former one has to be renewed.
func (s *Source) period(name string, validity, renewBefore time.Duration) (number int64, from, to time.Time, err error) {
	if validity < time.Hour || renewBefore < 10*time.Minute || renewBefore >= validity {
		return 0, from, to, fmt.Errorf("generated certificate %q: validity %s, renewed %s before its end; must be at least 1h, and renewed between its beginning and 10m before its end",
			name, validity, renewBefore)
	}
	step := (validity - renewBefore).Truncate(time.Second)
	number = max(0, int64(s.now.Sub(s.created)/step))
	from = s.created.Add(time.Duration(number) * step)
	s.renewAt(from.Add(step))
	return number, from.Add(-skew), from.Add(validity), nil
}

// Authority returns a certificate authority.
func (s *Source) Authority(name string, options AuthorityOptions) (*Authority, error) {
	const defaultValidity = 10 * 365 * 24 * time.Hour
	validity := cmp.Or(options.Validity, defaultValidity)
	renewBefore := cmp.Or(options.RenewBefore, validity/3)
	number, from, to, err := s.period(name, validity, renewBefore)
	if err != nil {
		return nil, err
	}
	key, err := s.privateKey("authority", name)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: cmp.Or(options.CommonName, name+" CA")}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	if subject := template.Subject.CommonName; len(subject) > maxCommonName {
		return nil, fmt.Errorf("generated authority %q: common name %q has %d characters; must be at most %d", name, subject, len(subject), maxCommonName)
	}
	a := &Authority{source: s, name: name, signs: renewBefore, key: key}
	if a.pem, err = s.sign(template, template, key, key, fmt.Sprintf("authority %q %d", name, number)); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(a.pem)
	a.parsed, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// Sign returns a certificate for servers and clients. Its key is another one after each renewal.
func (a *Authority) Sign(name string, options CertificateOptions) (KeyPair, error) {
	const defaultValidity = 90 * 24 * time.Hour
	validity := cmp.Or(options.Validity, defaultValidity)
	number, from, to, err := a.source.period(name, validity, cmp.Or(options.RenewBefore, validity/3))
	if err != nil {
		return KeyPair{}, err
	}
	if validity > a.signs {
		return KeyPair{}, fmt.Errorf("generated certificate %q: validity %s; must be at most %s, because its authority %q is renewed that long before its end",
			name, validity, a.signs, a.name)
	}
	id := fmt.Sprintf("certificate %q of %q %d", name, a.name, number)
	key, err := a.source.privateKey("certificate", id)
	if err != nil {
		return KeyPair{}, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: cmp.Or(options.CommonName, first(options.DNSNames), name)}, NotBefore: from, NotAfter: to,
		DNSNames: options.DNSNames, IPAddresses: options.IPAddresses,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(template.Subject.CommonName) > maxCommonName {
		// Clients look at the host names.
		template.Subject.CommonName = ""
	}
	if template.Subject.CommonName == a.parsed.Subject.CommonName {
		return KeyPair{}, fmt.Errorf("generated certificate %q: common name %q is that of its authority; must be another one, or clients take it for self-signed",
			name, template.Subject.CommonName)
	}
	certificate, err := a.source.sign(template, a.parsed, key, a.key, id)
	if err != nil {
		return KeyPair{}, err
	}
	encoded, err := encodeKey(key)
	return KeyPair{CA: a.pem, Certificate: certificate, PrivateKey: encoded}, err
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// sign returns a certificate in PEM. Its serial number depends on the id and its content.
func (s *Source) sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey, id string) ([]byte, error) {
	content := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%q\x00%q\x00%s\x00%s",
		id, template.Subject, template.DNSNames, template.IPAddresses, template.NotBefore, template.NotAfter))
	serial, err := s.derive("serial", fmt.Sprintf("%s/%x", id, content), 0, 16)
	if err != nil {
		return nil, err
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, and of the same length
	template.SerialNumber = new(big.Int).SetBytes(serial)
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encoding a public key: %w", err)
	}
	identifier := sha256.Sum256(public)
	template.SubjectKeyId = identifier[:20]
	// Without a source of random numbers, signatures are deterministic.
	der, err := x509.CreateCertificate(nil, template, parent, key.Public(), by)
	if err != nil {
		return nil, fmt.Errorf("signing certificate %s: %w", id, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
