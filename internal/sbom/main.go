// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes what each of the given Go programs was built from: a CycloneDX document beside it, with the suffix .cdx.json. It reads
// the build information in the program, so it lists the modules that are linked in, and none else. The same program gives the same document.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// A document is what CycloneDX 1.6 requires of one, and no more.
type document struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	for _, path := range os.Args[1:] {
		if err := write(path); err != nil {
			fmt.Fprintln(os.Stderr, "sbom:", err)
			os.Exit(1)
		}
	}
}

func write(path string) error {
	described, err := describe(path)
	if err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(described, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding what %s was built from: %w", path, err)
	}
	return os.WriteFile(path+".cdx.json", append(encoded, '\n'), 0o600)
}

// describe lists the standard library and all modules that are linked in.
func describe(path string) (*document, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	program := componentOf("application", &info.Main)
	program.Name, program.Hashes = filepath.Base(path), sha256Of(sum[:])
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	found := &document{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Component: program},
		Components: []component{componentOf("library", std)},
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		found.Components = append(found.Components, componentOf("library", module))
	}
	return found, nil
}

func componentOf(kind string, module *debug.Module) component {
	url := fmt.Sprintf("pkg:golang/%s@%s", module.Path, module.Version)
	found := component{Type: kind, Ref: url, Name: module.Path, Version: module.Version, URL: url}
	// What go.sum has of a module is the SHA-256 of a list of its files.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(sum) > 0 {
		found.Hashes = sha256Of(sum)
	}
	return found
}

func sha256Of(sum []byte) []hash {
	return []hash{{Algorithm: "SHA-256", Content: hex.EncodeToString(sum)}}
}
