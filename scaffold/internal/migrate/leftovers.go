// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A leftover is a text in files other than go.mod that may have to change.
type leftover struct {
	text string
	// inGo means that Go files are searched as well.
	inGo bool
	what string
	do   string
}

var leftovers = []leftover{
	{oldModule, true, "mentions " + oldModule, "replace it by " + newModule + " if it names the module: linker flags, links, tools"},
	{
		"setup-envtest", false, "prepares envtest",
		"it goes on working; package pkg/operatortest runs tests in a real Kubernetes that is built from Go modules, without it",
	},
	{
		"sigs.k8s.io/controller-runtime/pkg/envtest", true, "uses envtest",
		"it goes on working; package pkg/operatortest runs tests in a real Kubernetes that is built from Go modules, without it",
	},
	{"FROM golang:", false, "names a version of Go", "go.mod says which version is needed now"},
	{"controller-gen@", false, "names a version of controller-gen", "use one that knows the version of Go in go.mod"},
}

// maxFile is the size, in bytes, beyond which a file is not searched.
const maxFile = 1 << 20

// findLeftovers notes what the move has not changed.
func (m *mover) findLeftovers() error {
	bound, role := false, ""
	err := walk(m.project.copy, func(path string, entry fs.DirEntry) error {
		if entry.IsDir() && (path == "vendor" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !isSearched(path, entry) {
			return nil
		}
		content, err := os.ReadFile(filepath.Join(m.project.copy, path))
		if err != nil || bytes.IndexByte(content, 0) >= 0 {
			return err
		}
		m.search(path, content)
		bound = bound || bytes.Contains(content, []byte("cluster-admin"))
		if bytes.Contains(content, []byte("kind: ClusterRole\n")) {
			role = path
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("looking for leftovers: %w", err)
	}
	if role != "" && !bound {
		m.note(Finding{
			File: role, What: "grants less than cluster-admin",
			Do: "dependents and referenced objects are watched now: grant list and watch on their types beside get, and patch beside update",
		})
	}
	return nil
}

// isSearched reports whether an entry is a file of moderate size, other than those in which the go command names modules.
func isSearched(path string, entry fs.DirEntry) bool {
	info, err := entry.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() <= maxFile && path != "go.mod" && path != "go.sum"
}

func (m *mover) search(path string, content []byte) {
	isGo := filepath.Ext(path) == ".go"
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		for _, each := range leftovers {
			if (each.inGo || !isGo) && strings.Contains(text, each.text) {
				m.note(Finding{File: path, Line: line, What: each.what, Do: each.do})
			}
		}
	}
}
