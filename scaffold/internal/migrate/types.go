// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// replacements say what stands for names of the old module that are not part of the contract. Keys are as the compiler writes them.
var replacements = map[string]string{
	"reconciler.NewReconciler":     "use reconciler.New, with reconciler.Options; Apply and Delete take a request and return a Result",
	"reconciler.ReconcilerOptions": "use reconciler.Options",
	"reconciler.ReconcilerMetrics": "there is none: the Result of a call says what was done to each object",
	"manifests.ClientFromContext":  "use generator.ClientFromContext",
}

// packagesOfNames are those whose names are looked up in messages of the compiler.
var packagesOfNames = regexp.MustCompile(`\b(component|reconciler|manifests|helm|kustomize|types|cluster|operator|status)\.([A-Z]\w*)`)

// checkTypes notes what does not compile after the move. It includes tests.
func (m *mover) checkTypes(ctx context.Context) error {
	fmt.Fprintln(m.Out, "checking types")
	loaded, err := packages.Load(&packages.Config{
		Context: ctx,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedExportFile |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:   m.project.copy,
		Env:   environment(),
		Tests: true,
	}, "./...")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("checking types: %w", err)
	}
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			if strings.HasPrefix(problem.Msg, "# ") {
				// What the compiler printed; its errors follow one by one.
				continue
			}
			m.note(m.problem(problem))
		}
	}
	return nil
}

// problem returns the finding that an error of the compiler stands for.
func (m *mover) problem(problem packages.Error) Finding {
	finding := Finding{What: problem.Msg, Do: advice(problem.Msg)}
	file, rest, _ := strings.Cut(problem.Pos, ":")
	if relative, err := filepath.Rel(m.project.copy, file); err == nil && filepath.IsAbs(file) && !strings.HasPrefix(relative, "..") {
		finding.File = relative
	} else if file != "" && file != "-" {
		finding.File = file
	}
	line, _, _ := strings.Cut(rest, ":")
	finding.Line, _ = strconv.Atoi(line)
	// What the go command prints may name the copy.
	finding.What = strings.ReplaceAll(finding.What, m.project.copy+string(filepath.Separator), "")
	return finding
}

// advice says what to do about an error of the compiler.
func advice(message string) string {
	if strings.Contains(message, "missing method DeepCopy") {
		return "the code that copies API types is missing: generate it again"
	}
	for _, name := range packagesOfNames.FindAllString(message, -1) {
		if replacement, known := replacements[name]; known {
			return replacement
		}
	}
	if name := packagesOfNames.FindStringSubmatch(message); name != nil {
		folder := cmp.Or(map[string]string{"helm": "manifests/helm", "kustomize": "manifests/kustomize"}[name[1]], name[1])
		return "look for its replacement with: go doc " + newModule + "/pkg/" + folder
	}
	if strings.Contains(message, newModule+"/") {
		return "this runtime has no such package; see " + newModule + "/pkg"
	}
	return "the move also raises the versions of Kubernetes' libraries and of controller-runtime; see what has changed in them"
}
