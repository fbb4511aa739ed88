// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
	"github.com/component-operator/runtime/pkg/status"
)

// TestStatusSchemasRefuseNothing reads all generated definitions of components in the repository.
func TestStatusSchemasRefuseNothing(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"testdata/crds/*.yaml", "../../examples/*/crds/*.yaml", "../../examples/*/config/crd/bases/*.yaml", "../../bench/crds/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no definitions: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range testenv.Objects(t, string(raw)) {
			versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
			for _, version := range versions {
				fields, _ := version.(map[string]any)
				schema, found, _ := unstructured.NestedMap(fields, "schema", "openAPIV3Schema", "properties", "status")
				if !found {
					t.Fatalf("%s: no status", file)
				}
				for _, restriction := range restrictions(schema, "status") {
					t.Errorf("%s: %s", file, restriction)
				}
			}
		}
	}
}

// restrictions returns what a schema refuses, apart from values of another type.
func restrictions(schema map[string]any, path string) []string {
	var found []string
	for _, keyword := range []string{
		"enum", "pattern", "required", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "x-kubernetes-validations",
	} {
		value, exists := schema[keyword]
		if limit, err := strconv.Atoi(fmt.Sprint(value)); keyword == "maxItems" && err == nil && limit >= 1000 {
			continue // no record has that many; see TestForgedListsAreRefused
		}
		if exists {
			found = append(found, fmt.Sprintf("%s: %s: %v", path, keyword, value))
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		found = append(found, restrictions(items, path+"[]")...)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if fields, ok := property.(map[string]any); ok {
			found = append(found, restrictions(fields, path+"."+name)...)
		}
	}
	return found
}

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

// failingJob is gone when it has failed.
func (r *rig) failingJob() string {
	return r.job("fails", "purge-on-failure", "true", "update-policy", "recreate", sandbox.AnnotationFail, "true")
}

const wantFailure = "1 dependent failed: Job "

// TestFailureIsRecorded has a Job fail that is removed for that: the component must say so.
func TestFailureIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(r.failingJob())
	r.create(widget)
	await(r, widget, "the failure, and its record", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.HasPrefix(message, wantFailure) && strings.HasSuffix(message, "failed, and was deleted") &&
			len(widget.Status.Inventory) == 1 && widget.Status.Inventory[0].Phase == reconciler.PhaseFailed
	})
}

// startFormer starts an operator for components under a definition of an earlier version.
func (r *rig) startFormer(options ReconcilerOptions) (own *Reconciler[*FormerWidget], stop func()) {
	r.tb.Helper()
	own = NewReconciler[*FormerWidget](r.name, manifests.GeneratorFunc(specObjects), options)
	mgr := r.manager(nil)
	if err := own.SetupWithManager(mgr); err != nil {
		r.tb.Fatal(err)
	}
	return own, r.run(mgr)
}

// TestFailureUnderFormerDefinition is TestFailureIsRecorded with a definition that does not know the phase Failed: what has
// failed must be known also to the next process, which must come to rest, and run it again when it has changed.
func TestFailureUnderFormerDefinition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := (*FormerWidget)(r.widget(r.failingJob()))
	widget.Spec.Timeout = &metav1.Duration{Duration: defaultRequeueInterval}
	start := func() (own *Reconciler[*FormerWidget], stop func()) { return r.startFormer(ReconcilerOptions{}) }
	awaitFailure := func() {
		t.Helper()
		await(r, widget, "the failure, and its record", func() bool {
			state, _, message := widget.Status.GetState()
			return state == StateError && strings.HasPrefix(message, wantFailure) && strings.HasSuffix(message, "failed, and was deleted") &&
				len(widget.Status.Inventory) == 1 && widget.Status.Inventory[0].Phase == reconciler.PhaseCompleted && widget.Status.Inventory[0].UID == ""
		})
	}
	_, stop := start()
	r.create(widget)
	awaitFailure()
	stop()
	own, _ := start()
	r.settle(widget)
	r.requests.Reset()
	for range 3 {
		if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if r.requests.Count(testenv.Request.IsWrite) > 0 {
		t.Errorf("want rest, got\n%s", r.requests)
	}
	awaitFailure()
	change(r, widget, func(w *FormerWidget) {
		w.Spec.Objects = r.objects(r.job("fails", "purge-order", "0", "update-policy", "recreate"))
	})
	awaitReady(r, widget)
	diff(t, "phase of the Job that ran again", reconciler.PhaseCompleted, widget.Status.Inventory[0].Phase)
	diff(t, "its status", status.Status(""), widget.Status.Inventory[0].Status)
	r.delete(widget)
	r.awaitGone(widget)
}
