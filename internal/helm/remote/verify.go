// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/downloader"
)

// signatureSuffix is that of the file with the signature of a packaged chart.
const signatureSuffix = ".prov"

// Verify checks the signature of a packaged chart, which is in the file beside it, by the keys in a keyring. It returns
// the name of the key with which the chart was signed, and its fingerprint.
func Verify(archive, keyring string) (signedBy string, err error) {
	found, err := downloader.VerifyChart(archive, keyring)
	if err != nil {
		return "", fmt.Errorf("verifying the signature of %s: %w", filepath.Base(archive), err)
	}
	names := strings.Join(slices.Sorted(maps.Keys(found.SignedBy.Identities)), ", ")
	return fmt.Sprintf("%s (%X)", names, found.SignedBy.PrimaryKey.Fingerprint), nil
}

// verify checks the signature of a fetched chart.
func (f File) verify(keyring string) (signedBy string, err error) {
	if f.provenance == nil {
		return "", errors.New("it has no signature: only packaged charts have one")
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
	return Verify(archive, keyring)
}
