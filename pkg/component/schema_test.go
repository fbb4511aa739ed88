// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// constantsOf returns the values of all constants of a type that a package declares.
func constantsOf[T ~string](t *testing.T, directory string) []T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%T", *new(T))
	name = name[strings.LastIndex(name, ".")+1:]
	var values []T
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if declared, ok := spec.Type.(*ast.Ident); !ok || declared.Name != name {
				return true
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(literal.Value)
					values = append(values, T(text))
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("%s declares no constants of type %s", directory, name)
	}
	return values
}

// TestEverythingThatIsRecordedIsAccepted saves all values that a status may have.
func TestEverythingThatIsRecordedIsAccepted(t *testing.T) {
	t.Parallel()
	const engine = "../inventory"
	r := newRig(t)
	widget := r.widget("")
	r.create(widget)
	full := WidgetStatus{Status: Status{ObservedGeneration: 1}}
	add := func(change func(*reconciler.InventoryItem)) {
		item := &reconciler.InventoryItem{}
		item.Name = "item-" + strconv.Itoa(len(full.Inventory))
		change(item)
		full.Inventory = append(full.Inventory, item)
	}
	phases := constantsOf[reconciler.Phase](t, engine)
	if !slices.Contains(phases, reconciler.PhaseFailed) {
		t.Fatalf("not all phases were found: %v", phases)
	}
	for _, value := range phases {
		add(func(item *reconciler.InventoryItem) { item.Phase = value })
	}
	for _, value := range constantsOf[reconciler.AdoptionPolicy](t, engine) {
		add(func(item *reconciler.InventoryItem) { item.AdoptionPolicy = value })
	}
	for _, value := range constantsOf[reconciler.ReconcilePolicy](t, engine) {
		add(func(item *reconciler.InventoryItem) { item.ReconcilePolicy = value })
	}
	for _, value := range constantsOf[reconciler.UpdatePolicy](t, engine) {
		add(func(item *reconciler.InventoryItem) { item.UpdatePolicy = value })
	}
	for _, value := range constantsOf[reconciler.DeletePolicy](t, engine) {
		add(func(item *reconciler.InventoryItem) { item.DeletePolicy = value })
	}
	for _, value := range []status.Status{
		status.InProgressStatus, status.FailedStatus, status.CurrentStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus, "later",
	} {
		add(func(item *reconciler.InventoryItem) { item.Status = value })
	}
	for _, value := range constantsOf[ConditionStatus](t, ".") {
		full.Conditions = append(full.Conditions, Condition{Type: ConditionTypeReady, Status: value})
	}
	for _, value := range constantsOf[ConditionType](t, ".") {
		full.Conditions = append(full.Conditions, Condition{Type: value})
	}
	save := func(what string, change func(*WidgetStatus)) {
		t.Helper()
		widget.Status = full
		change(&widget.Status)
		if err := r.client.Status().Update(t.Context(), widget); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, value := range constantsOf[State](t, ".") {
		save("state "+string(value), func(s *WidgetStatus) { s.State = value })
	}
	for _, value := range constantsOf[DeletionStage](t, engine) {
		save("stage "+string(value), func(s *WidgetStatus) {
			s.DeletionHooks = &DeletionHooks{Secrets: []string{}, Stage: value, Inventory: full.Inventory}
		})
	}
	save("a record", func(s *WidgetStatus) {
		s.InventoryRecord = &InventoryRecord{
			Content: []byte("a"), Chunks: []string{"a"}, Kinds: []reconciler.TypeVersionInfo{{}}, Completed: []CompletedDependent{{}}, Unlisted: []UnlistedKind{{}},
		}
	})
}
