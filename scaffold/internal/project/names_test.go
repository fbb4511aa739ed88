// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestNamesInMain checks that no kind is accepted whose package has the name of another import of main.go.
func TestNamesInMain(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", render(t, variants["go-both"])["main.go"], parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range file.Imports {
		name := path.Base(strings.Trim(imported.Path.Value, `"`))
		if imported.Name != nil {
			name = imported.Name.Name
		}
		if kind := strings.ToUpper(name[:1]) + name[1:]; strings.ToLower(name) == name && name != "webshop" && len(kindProblems(kind)) == 0 {
			t.Errorf("kind %s is accepted, but main.go imports another %s", kind, name)
		}
	}
}
