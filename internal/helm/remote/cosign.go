// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

const (
	// signedBefore and signedSince are the types of signatures that cosign makes, before version 3 and since then. Cosign
	// also accepts attestations of the same signer, which may be about anything, such as a list of vulnerabilities.
	signedBefore = "cosign container image signature"
	signedSince  = "https://sigstore.dev/cosign/sign/v1"
	// cosignFailed precedes the error that cosign prints last.
	cosignFailed = "error during command execution: "
	// maxReport is how much cosign may print, in bytes.
	maxReport = 1 << 20
)

// cosign checks the signature of a manifest in a repository of a registry by the program cosign. It returns who has signed.
func (f *fetcher) cosign(ctx context.Context, in *url.URL, digest string, signer Signer) (signedBy string, err error) {
	folder, err := os.MkdirTemp("", "clm-cosign-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	environment, err := f.cosignCredentials(ctx, in, folder)
	var report []byte
	if err == nil {
		report, err = runCosign(ctx, environment, append(f.cosignArguments(signer), "--", in.Host+in.Path+"@"+digest))
	}
	if err != nil {
		return "", err
	}
	return signer.among(report)
}

// cosignArguments returns the arguments of cosign except for what is verified. The first ones override the environment.
func (f *fetcher) cosignArguments(signer Signer) []string {
	arguments := []string{"verify", "--check-claims=true", "--local-image=false", "--output=json"}
	for _, flag := range slices.Sorted(maps.Keys(signer.Cosign)) {
		arguments = append(arguments, "--"+flag+"="+signer.Cosign[flag])
	}
	if f.options.PlainHTTP {
		arguments = append(arguments, "--allow-http-registry=true")
	}
	if f.options.CAFile != "" {
		arguments = append(arguments, "--registry-cacert="+f.options.CAFile)
	}
	return arguments
}

// cosignCredentials returns environment variables with which cosign uses the same credentials as the fetcher. Those that
// it would not find itself are written to the folder.
func (f *fetcher) cosignCredentials(ctx context.Context, in *url.URL, folder string) ([]string, error) {
	found, err := f.credential(in, credentialsFile(), false)(ctx, in.Host)
	if err != nil || found == auth.EmptyCredential {
		return nil, err
	}
	store, err := credentials.NewFileStore(filepath.Join(folder, "config.json"))
	if err == nil {
		err = store.Put(ctx, credentials.ServerAddressFromRegistry(in.Host), found)
	}
	return []string{"DOCKER_CONFIG=" + folder}, err
}

// runCosign runs cosign, and returns what it prints. It ends with the context.
func runCosign(ctx context.Context, environment, arguments []string) ([]byte, error) {
	command := exec.CommandContext(ctx, "cosign", arguments...)
	command.Env = append(os.Environ(), environment...)
	command.WaitDelay = 5 * time.Second // for processes of a killed cosign that keep its output open
	var report, problems limited
	command.Stdout, command.Stderr = &report, &problems
	confine(command)
	err := command.Run()
	switch {
	case err == nil:
		return report.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("the program cosign, version 3 or later, is needed to verify this, and is not in PATH")
	}
	said := strings.Join(strings.Fields(problems.kept.String()), " ")
	said = strings.TrimPrefix(said[max(0, strings.LastIndex(said, cosignFailed)):], cosignFailed)
	return nil, errors.New(strings.TrimSuffix(fmt.Sprintf("cosign verify: %v: %s", err, said[max(0, len(said)-maxReason):]), ": "))
}

// limited keeps what is written, up to a maximum.
type limited struct{ kept bytes.Buffer }

// Write fails if it becomes too much.
func (l *limited) Write(text []byte) (int, error) {
	if l.kept.Len()+len(text) > maxReport {
		return 0, fmt.Errorf("it has printed more than %d MiB", maxReport>>20)
	}
	return l.kept.Write(text)
}

// among returns who has signed according to what cosign reports. It fails if there is no signature.
func (s Signer) among(report []byte) (signedBy string, err error) {
	var found []struct {
		Critical struct {
			Type string `json:"type"`
		} `json:"critical"`
		Optional map[string]any `json:"optional"`
	}
	if err := json.Unmarshal(report, &found); err != nil {
		return "", fmt.Errorf("parsing what cosign verify has printed: %w", err)
	}
	var others []string
	for _, one := range found {
		subject, _ := one.Optional["Subject"].(string)
		issuer, _ := one.Optional["Issuer"].(string)
		switch {
		case one.Critical.Type == signedBefore && !s.has("key", "sk"): // the certificate says who it was
			return fmt.Sprintf("%s (%s)", subject, issuer), nil
		case one.Critical.Type == signedBefore || one.Critical.Type == signedSince:
			return s.fingerprinted(), nil
		}
		others = append(others, one.Critical.Type)
	}
	return "", fmt.Errorf("there are only attestations (%s), which cosign verify accepts; cosign sign makes a signature", strings.Join(others, ", "))
}

// fingerprinted returns the text about the signer in which a public key in a file is named by its SHA-256 fingerprint.
func (s Signer) fingerprinted() string {
	if content, err := os.ReadFile(s.Cosign["key"]); err == nil {
		if block, _ := pem.Decode(content); block != nil {
			return fmt.Sprintf("cosign key sha256:%x", sha256.Sum256(block.Bytes))
		}
	}
	return s.String()
}
