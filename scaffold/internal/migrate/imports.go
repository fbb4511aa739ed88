// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// rewriteImports changes the paths of imports, and nothing else: names, comments and the order of declarations stay.
func (m *mover) rewriteImports() error {
	return walk(m.project.copy, func(path string, entry fs.DirEntry) error {
		switch {
		case entry.IsDir() && path == "vendor":
			return filepath.SkipDir
		case entry.IsDir() && exists(filepath.Join(m.project.copy, path, "go.mod")):
			m.note(Finding{File: filepath.Join(path, "go.mod"), What: "is a module of its own", Do: "move it by another call"})
			return filepath.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(path) != ".go":
			return nil
		}
		content, err := os.ReadFile(filepath.Join(m.project.copy, path))
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		rewritten, err := withNewImports(path, content)
		if err != nil {
			m.note(Finding{File: path, What: err.Error(), Do: "repair the file, and replace the import paths by hand"})
			return nil
		}
		if bytes.Equal(content, rewritten) {
			return nil
		}
		if err := os.WriteFile(filepath.Join(m.project.copy, path), rewritten, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
}

// withNewImports returns the content with our import paths. A file that was formatted is formatted afterwards, too, because paths have an order.
func withNewImports(name string, content []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ImportsOnly|parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	var result bytes.Buffer
	end := 0
	for _, declared := range file.Imports {
		path, err := strconv.Unquote(declared.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("parsing the import %s: %w", declared.Path.Value, err)
		}
		moved, ok := movedPath(path)
		if !ok {
			continue
		}
		start := files.Position(declared.Path.Pos()).Offset
		result.Write(content[end:start])
		result.WriteString(strconv.Quote(moved))
		end = start + len(declared.Path.Value)
	}
	if end == 0 {
		return content, nil
	}
	result.Write(content[end:])
	if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
		return result.Bytes(), nil
	}
	formatted, err := format.Source(result.Bytes())
	if err != nil {
		return nil, fmt.Errorf("formatting: %w", err)
	}
	return formatted, nil
}

// movedPath returns our path of a package of the old module, also if we have no such package.
func movedPath(path string) (string, bool) {
	rest, found := strings.CutPrefix(path, oldModule)
	if !found || rest != "" && !strings.HasPrefix(rest, "/") {
		return "", false
	}
	return newModule + rest, true
}

// rewriteRequirements requires our module instead of the old one. With a checkout, it also adopts the checksums of that, which are verified already and
// need no network.
func (m *mover) rewriteRequirements() error {
	path := filepath.Join(m.project.copy, "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading go.mod: %w", err)
	}
	file, err := modfile.Parse("go.mod", content, nil)
	if err != nil {
		return fmt.Errorf("reading go.mod: %w", err)
	}
	if err := m.require(file); err != nil {
		return fmt.Errorf("changing go.mod: %w", err)
	}
	file.Cleanup()
	if content, err = file.Format(); err != nil {
		return fmt.Errorf("changing go.mod: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("writing go.mod: %w", err)
	}
	return m.adoptChecksums()
}

func (m *mover) require(file *modfile.File) error {
	for _, replaced := range file.Replace {
		if replaced.Old.Path == oldModule {
			m.note(Finding{File: "go.mod", What: "has replaced " + oldModule + " by " + replaced.New.Path, Do: "if that was a fork, its changes are not part of this runtime"})
			if err := file.DropReplace(replaced.Old.Path, replaced.Old.Version); err != nil {
				return err
			}
		}
	}
	for _, excluded := range file.Exclude {
		if excluded.Mod.Path == oldModule {
			if err := file.DropExclude(excluded.Mod.Path, excluded.Mod.Version); err != nil {
				return err
			}
		}
	}
	if err := file.DropRequire(oldModule); err != nil {
		return err
	}
	version := m.RuntimeVersion
	if m.RuntimePath != "" {
		version = "v0.0.0"
		if err := m.raiseRequirements(file); err != nil {
			return err
		}
		if err := file.AddReplace(newModule, "", filepath.ToSlash(m.RuntimePath), ""); err != nil {
			return err
		}
	}
	// The toolchain was chosen for an older version of Go. The go command chooses again.
	file.DropToolchainStmt()
	return file.AddRequire(newModule, version)
}

// raiseRequirements raises what the project requires to what the checkout requires, which the go command would do as well if it had the modules of lower
// versions at hand.
func (m *mover) raiseRequirements(file *modfile.File) error {
	content, err := os.ReadFile(filepath.Join(m.runtime(), "go.mod"))
	if err != nil {
		return fmt.Errorf("reading the requirements of the runtime: %w", err)
	}
	runtime, err := modfile.ParseLax("go.mod", content, nil)
	if err != nil {
		return fmt.Errorf("reading the requirements of the runtime: %w", err)
	}
	for _, ours := range runtime.Require {
		for _, theirs := range file.Require {
			if theirs.Mod.Path == ours.Mod.Path && semver.Compare(theirs.Mod.Version, ours.Mod.Version) < 0 {
				if err := file.AddRequire(ours.Mod.Path, ours.Mod.Version); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// runtime is the folder of the checkout.
func (m *mover) runtime() string {
	if filepath.IsAbs(m.RuntimePath) {
		return m.RuntimePath
	}
	return filepath.Join(m.project.dir, m.RuntimePath)
}

func (m *mover) adoptChecksums() error {
	if m.RuntimePath == "" {
		return nil
	}
	ours, err := os.ReadFile(filepath.Join(m.runtime(), "go.sum"))
	if err != nil {
		return fmt.Errorf("reading the checksums of the runtime: %w", err)
	}
	path := filepath.Join(m.project.copy, "go.sum")
	theirs, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading go.sum: %w", err)
	}
	if err := os.WriteFile(path, append(theirs, ours...), 0o644); err != nil {
		return fmt.Errorf("writing go.sum: %w", err)
	}
	return nil
}
