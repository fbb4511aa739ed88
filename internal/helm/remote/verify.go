// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/downloader"
)

// signatureSuffix is that of the file with the signature of a packaged chart.
const signatureSuffix = ".prov"

var (
	errNoProvenance  = errors.New("it has no such signature: only packaged charts have one")
	errNotInRegistry = errors.New("it has no such signature: only charts and artifacts in registries have one")
)

// Signer is somebody who may have signed a source. Exactly one of the fields is set.
type Signer struct {
	// Keyring is a file with public keys for the signatures that "helm package --sign" makes of charts.
	Keyring string `json:"keyring,omitempty"`
	// Cosign has flags of "cosign verify", without the dashes, with their values: those that say who must have signed, and
	// how that is proven. It is for charts and other artifacts in registries.
	Cosign map[string]string `json:"cosign,omitempty"`
}

// Demand demands the signature of one of several signers.
type Demand struct {
	// By is what demands it, for messages: a flag, or an entry of a file.
	By      string
	Signers []Signer
}

var (
	// cosignFlag matches the names of flags of cosign.
	cosignFlag = regexp.MustCompile(`^[a-z][a-z0-9-]+$`)
	// otherFlags matches flags of "cosign verify" that turn off the check, or change what is checked, where it is, or what
	// is reported.
	otherFlags = regexp.MustCompile(`^(check-claims|local-image|attachment.*|payload|signature|output.*|verbose|help|timeout|registry-.*|allow-.*-registry|k8s-keychain)$`)
)

// has reports whether one of the flags of cosign has a value.
func (s Signer) has(flags ...string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool { return s.Cosign[flag] != "" })
}

// Check fails if the signer is not complete, or if flags of cosign are about something else.
func (s Signer) Check() error {
	if (s.Keyring != "") == (s.Cosign != nil) {
		return errors.New("a signer must have either keyring or cosign")
	}
	for _, flag := range slices.Sorted(maps.Keys(s.Cosign)) {
		if !cosignFlag.MatchString(flag) || otherFlags.MatchString(flag) {
			return fmt.Errorf("cosign: %q is not allowed; must be a flag of cosign verify that says who must have signed, without dashes", flag)
		}
	}
	hasKey, isIdentified := s.has("key", "sk"), s.has("certificate-identity", "certificate-identity-regexp")
	hasIssuer := s.has("certificate-oidc-issuer", "certificate-oidc-issuer-regexp")
	if s.Keyring == "" && (hasKey == isIdentified || isIdentified != hasIssuer) {
		return errors.New("cosign: must have either key (or sk), or certificate-identity and certificate-oidc-issuer (or certificate-identity-regexp and certificate-oidc-issuer-regexp)")
	}
	return nil
}

// String returns who it is, for messages.
func (s Signer) String() string {
	if s.Keyring != "" {
		return "keyring " + s.Keyring
	}
	if s.has("key", "sk") {
		return "cosign key " + cmp.Or(s.Cosign["key"], "in a security key")
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(s.Cosign["certificate-identity"], s.Cosign["certificate-identity-regexp"]),
		cmp.Or(s.Cosign["certificate-oidc-issuer"], s.Cosign["certificate-oidc-issuer-regexp"]))
}

// meet returns who has signed, by a function that checks the signature of one signer. It fails unless each demand is met.
func meet(demands []Demand, check func(Signer) (signedBy string, err error)) (signedBy string, err error) {
	var all []string
	for _, demand := range demands {
		name, err := demand.meet(check)
		if err != nil {
			return "", fmt.Errorf("%s demands a signature: %w", demand.By, err)
		}
		all = append(all, name)
	}
	return strings.Join(slices.Compact(all), ", "), nil
}

// meet returns the first signer who has signed. The error has a reason for each of them.
func (d Demand) meet(check func(Signer) (signedBy string, err error)) (signedBy string, err error) {
	for _, signer := range d.Signers {
		signedBy, failure := check(signer)
		if failure == nil {
			return signedBy, nil
		}
		failure = fmt.Errorf("%s: %w", signer, failure)
		if err != nil {
			failure = fmt.Errorf("%w; %w", err, failure)
		}
		err = failure
	}
	return "", cmp.Or(err, errors.New("nobody may have signed"))
}

// Unsigned fails if there are demands, for something that cannot have a signature.
func Unsigned(demands []Demand) error {
	if len(demands) == 0 {
		return nil
	}
	return fmt.Errorf("%s demands a signature, but only packaged charts, and charts and artifacts in registries, can have one", demands[0].By)
}

// Verify checks the signatures of a file on this machine. It returns who has signed; nobody if there are no demands.
func Verify(path string, demands []Demand) (signedBy string, err error) {
	return meet(demands, func(signer Signer) (string, error) {
		if signer.Keyring == "" {
			return "", errNotInRegistry
		}
		return verifyPackage(path, signer.Keyring)
	})
}

// verifyPackage checks the signature of a packaged chart, which is in the file beside it, by the keys in a keyring. It
// returns the name of the key with which the chart was signed, and its fingerprint.
func verifyPackage(archive, keyring string) (signedBy string, err error) {
	found, err := downloader.VerifyChart(archive, keyring)
	if err != nil {
		return "", fmt.Errorf("verifying the signature of %s: %w", filepath.Base(archive), err)
	}
	names := strings.Join(slices.Sorted(maps.Keys(found.SignedBy.Identities)), ", ")
	return fmt.Sprintf("%s (%X)", names, found.SignedBy.PrimaryKey.Fingerprint), nil
}

// verify checks the signatures of what was fetched, and records who has signed. The URL is nil unless it is that of a
// repository in a registry.
func (f *fetcher) verify(ctx context.Context, file *File, in *url.URL) (err error) {
	file.SignedBy, err = meet(f.options.Signatures, func(signer Signer) (string, error) {
		switch {
		case signer.Keyring != "":
			return file.verify(signer.Keyring)
		case in == nil:
			return "", errNotInRegistry
		default:
			return f.cosign(ctx, in, file.Digest, signer)
		}
	})
	return err
}

// needsProvenance reports whether the signature that Helm makes has to be fetched.
func (o Options) needsProvenance() bool {
	return slices.ContainsFunc(o.Signatures, func(demand Demand) bool {
		return slices.ContainsFunc(demand.Signers, func(signer Signer) bool { return signer.Keyring != "" })
	})
}

// verify checks the signature of a fetched chart.
func (f File) verify(keyring string) (signedBy string, err error) {
	if f.provenance == nil {
		return "", errNoProvenance
	}
	temporary, err := os.MkdirTemp("", "clm-signature-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	archive := filepath.Join(temporary, filepath.Base(f.Name))
	if err := errors.Join(os.WriteFile(archive, f.Content, 0o600), os.WriteFile(archive+signatureSuffix, f.provenance, 0o600)); err != nil {
		return "", err
	}
	return verifyPackage(archive, keyring)
}
