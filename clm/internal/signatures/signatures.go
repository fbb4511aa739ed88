// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package signatures reads the policy about signatures: a file of the user that says which sources must be signed by whom.
package signatures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/internal/manifest"
)

// Variable is the environment variable with the path of the policy. By default, it is clm/signatures.yaml in the user's
// folder for configuration, if there is such a file.
const Variable = "CLM_SIGNATURES"

// entry says who must have signed certain sources.
type entry struct {
	// Source is the beginning of a reference; empty for all sources.
	Source string `json:"source"`
	// Namespace is that of the release; empty for all.
	Namespace string          `json:"namespace"`
	Signers   []remote.Signer `json:"signers"`
}

// Require adds to the options what the policy demands of a source. The namespace is empty unless the source is for a release.
func Require(options remote.Options, source, namespace string) (remote.Options, error) {
	found, err := remote.Find(source)
	if err != nil {
		return options, err
	}
	path, entries, err := read()
	if err != nil {
		return options, fmt.Errorf("reading the policy about signatures, %s: %w", path, err)
	}
	references := []string{source}
	if found != nil {
		references = append(references, found.String())
	}
	for i, e := range entries {
		if (e.Namespace == "" || e.Namespace == namespace) && (e.Source == "" || slices.ContainsFunc(references, e.covers)) {
			options.Signatures = append(slices.Clone(options.Signatures), remote.Demand{By: fmt.Sprintf("signatures[%d] of %s", i, path), Signers: e.Signers})
			break
		}
	}
	return options, nil
}

// covers reports whether a reference begins with that of the entry, and goes on with another part of it.
func (e entry) covers(reference string) bool {
	beginning := strings.TrimRight(e.Source, "/")
	ends := "/@#?:"
	if _, path, _ := strings.Cut(beginning, "://"); !strings.Contains(path, "/") {
		ends = "/#?" // no user, no port
	}
	rest, ok := strings.CutPrefix(reference, beginning)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ends))
}

// read returns the path of the policy, and what is in it: nothing if there is none.
func read() (path string, entries []entry, err error) {
	path, isGiven := os.LookupEnv(Variable)
	if folder, err := os.UserConfigDir(); !isGiven && err == nil {
		path = filepath.Join(folder, "clm", "signatures.yaml")
	}
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isGiven:
		return path, nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return path, nil, errors.New("the file that " + Variable + " names does not exist")
	case err != nil:
		return path, nil, err
	}
	entries, err = parse(content, filepath.Dir(path))
	return path, entries, err
}

// parse decodes a policy strictly. Its paths are relative to the folder.
func parse(content []byte, folder string) ([]entry, error) {
	var file struct {
		Signatures []json.RawMessage `json:"signatures"`
	}
	value, err := manifest.DecodeUnique(content)
	if err != nil {
		return nil, err
	}
	whole, err := json.Marshal(value)
	if err == nil {
		err = decode(whole, &file)
	}
	if err != nil {
		return nil, err
	}
	if len(file.Signatures) == 0 {
		return nil, errors.New("signatures is empty; must be a list of entries, each with signers")
	}
	entries := make([]entry, len(file.Signatures))
	for i, raw := range file.Signatures {
		if err := decode(raw, &entries[i]); err != nil {
			return nil, fmt.Errorf("signatures[%d]: %w", i, err)
		}
		if len(entries[i].Signers) == 0 {
			return nil, fmt.Errorf("signatures[%d].signers is empty; must have one signer at least", i)
		}
		for j := range entries[i].Signers {
			if err := complete(&entries[i].Signers[j], folder); err != nil {
				return nil, fmt.Errorf("signatures[%d].signers[%d]: %w", i, j, err)
			}
		}
	}
	return entries, nil
}

func decode(content []byte, into any) error {
	err := yaml.UnmarshalStrict(content, into) // unlike other decoders, it takes true for "true"
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ", ""))
	}
	return err
}

var (
	// pathFlags are flags of cosign whose values are paths.
	pathFlags = []string{"key", "trusted-root", "ca-roots", "ca-intermediates", "certificate", "certificate-chain", "sct", "timestamp-certificate-chain"}
	// elsewhere matches keys that are not in files, such as those in a key management system.
	elsewhere = regexp.MustCompile(`^[a-z][a-z0-9+.-]+:`)
)

// complete checks a signer, and completes its paths.
func complete(signer *remote.Signer, folder string) error {
	if err := signer.Check(); err != nil {
		return err
	}
	absolute := func(path string) string {
		if path == "" || filepath.IsAbs(path) || elsewhere.MatchString(path) {
			return path
		}
		return filepath.Join(folder, path)
	}
	signer.Keyring = absolute(signer.Keyring)
	for _, flag := range pathFlags {
		if path, ok := signer.Cosign[flag]; ok {
			signer.Cosign[flag] = absolute(path)
		}
	}
	return nil
}
