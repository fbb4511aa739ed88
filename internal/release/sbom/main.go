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
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := describe(path); err != nil {
			fmt.Fprintln(os.Stderr, "sbom:", err)
			os.Exit(1)
		}
	}
}

func describe(path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the build information of %s: %w", path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	program := component(cdx.ComponentTypeApplication, &info.Main)
	program.Name = filepath.Base(path)
	program.Hashes = sha256Of(sum[:])
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = new(components(info))
	file, err := os.Create(path + ".cdx.json")
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("writing %s: %w", file.Name(), err)
	}
	return file.Close()
}

// components returns the standard library and all modules that are linked in.
func components(info *debug.BuildInfo) []cdx.Component {
	found := []cdx.Component{component(cdx.ComponentTypeLibrary, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		found = append(found, component(cdx.ComponentTypeLibrary, module))
	}
	return found
}

func component(kind cdx.ComponentType, module *debug.Module) cdx.Component {
	url := fmt.Sprintf("pkg:golang/%s@%s", module.Path, module.Version)
	found := cdx.Component{Type: kind, BOMRef: url, Name: module.Path, Version: module.Version, PackageURL: url}
	// What go.sum has of a module is the SHA-256 of a list of its files.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(sum) > 0 {
		found.Hashes = sha256Of(sum)
	}
	return found
}

func sha256Of(sum []byte) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
}
