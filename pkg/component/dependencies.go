// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/dependencies"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// +kubebuilder:object:generate=true

// Dependency is an object that has to be ready before the dependents of a component are applied. It may be a component
// of any operator, or any other object but a Secret. The operator needs the permissions to get, list and watch it.
type Dependency struct {
	// APIVersion of the object, such as example.com/v1.
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// Namespace of the object. Defaults to the namespace of the component. Others are allowed only if the operator
	// allows them.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// ReadyWhen is a CEL expression over the object, which is the variable self, that is true when the object is ready.
	// Defaults to the conventions of Kubernetes: its generation is observed, and its conditions say that it is ready.
	ReadyWhen string `json:"readyWhen,omitempty"`
}

// +kubebuilder:object:generate=true

// DependencySpec implements DependencyConfiguration.
type DependencySpec struct {
	// DependsOn lists the objects that have to be ready before the dependents of the component are applied for the first
	// time, and after each change of the declaration.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	DependsOn []Dependency `json:"dependsOn,omitempty"`
}

var _ DependencyConfiguration = &DependencySpec{}

// GetDependencies implements DependencyConfiguration.
func (s *DependencySpec) GetDependencies() []Dependency { return s.DependsOn }

// DependencyConfiguration makes a component depend on other objects. The component waits until all are ready, once for
// each declaration: when its spec, the content of a reference or the operator's version has changed. Afterwards, it is
// healed whatever becomes of them.
//
// A dependency that is a component, of any operator of this module, is not deleted before the components that depend on
// it: these put a finalizer on it, which takes the permission to patch it. The annotation ignore-needed-by of the
// component that is being deleted removes these finalizers.
type DependencyConfiguration interface {
	// GetDependencies returns the dependencies. It is called before references are loaded.
	GetDependencies() []Dependency
}

// +kubebuilder:object:generate=true

// ValueReference is a reference to a value in any object but a Secret, such as an endpoint in the status of another
// component. It is loaded like the other references, and the object is watched. While the object or the value is
// missing, the component waits.
type ValueReference struct {
	// APIVersion of the object, such as example.com/v1.
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// Namespace of the object. Defaults to the namespace of the component. Others are allowed only if the operator
	// allows them.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Value is a CEL expression over the object, which is the variable self, such as self.status.endpoint.
	// +kubebuilder:validation:MinLength=1
	Value string `json:"value"`

	loaded []byte `json:"-"`
}

// Loaded returns the loaded value in the form of decoded JSON, with whole numbers as int64; nil before it is loaded.
func (r *ValueReference) Loaded() (value any) {
	if r.loaded != nil {
		_ = utiljson.Unmarshal(r.loaded, &value) // it was encoded by us
	}
	return value
}

func (r *ValueReference) content() any { return r.Loaded() }

func (r *ValueReference) object() dependencies.Target {
	return dependencies.Target{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// load evaluates the expression for the object, and returns the input of the digest.
func (r *ValueReference) load(name observe.Name, object *unstructured.Unstructured) (any, error) {
	if object == nil {
		return nil, incompleteError{fmt.Errorf("%s does not exist", dependencies.Text(name))}
	}
	expression, err := judges.CompileValue(r.Value)
	if err == nil {
		r.loaded, err = expression.JSON(object, judges.NewBudget(judges.Full))
	}
	if err != nil {
		return nil, incompleteError{fmt.Errorf("value %q of %s: %w", r.Value, dependencies.Text(name), err)}
	}
	return r.Loaded(), nil
}

// +kubebuilder:object:generate=true

// DependencyStatus records the dependencies of a component.
type DependencyStatus struct {
	// Declaration identifies the last declaration for which all dependencies were ready; see processingDigest.
	Declaration string `json:"declaration,omitempty"`
	// Objects are the dependencies. Those that are components have a finalizer.
	// +listType=atomic
	Objects []DependencyRecord `json:"objects,omitempty"`
}

// DependencyRecord is a recorded dependency.
type DependencyRecord struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Former means that it is no dependency any more, and that the component is not ready without it yet.
	Former bool `json:"former,omitempty"`
}

func (r DependencyRecord) name() observe.Name {
	return observe.Name{GroupVersionKind: schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), Namespace: r.Namespace, Name: r.Name}
}

func recordOf(name observe.Name) DependencyRecord {
	return DependencyRecord{APIVersion: name.GroupVersion().String(), Kind: name.Kind, Namespace: name.Namespace, Name: name.Name}
}

// dependency is a dependency of a component.
type dependency struct {
	observe.Name
	// readyWhen is nil if the judge decides.
	readyWhen *judges.Expression
}

// dependencies returns the dependencies of a component.
func (w *worker) dependencies(key apitypes.NamespacedName, component Component) ([]dependency, error) {
	var found []dependency
	var problems []string
	for i, declared := range ask(component, DependencyConfiguration.GetDependencies) {
		at := fmt.Sprintf("spec.dependsOn[%d].", i)
		name, err := w.objects.Resolve(key, dependencies.Target{APIVersion: declared.APIVersion, Kind: declared.Kind, Namespace: declared.Namespace, Name: declared.Name})
		if invalid, ok := errors.AsType[dependencies.InvalidError](err); ok {
			problems = append(problems, at+invalid.Error())
		} else if err != nil {
			return nil, err
		}
		d := dependency{Name: name}
		if declared.ReadyWhen != "" {
			if d.readyWhen, err = judges.Compile(declared.ReadyWhen); err != nil {
				problems = append(problems, at+"readyWhen: "+err.Error())
			}
		}
		found = append(found, d)
	}
	if len(problems) > 0 {
		return nil, &reconciler.RefusedError{Problems: problems}
	}
	return found, nil
}

// resolve finds out what the component depends on.
func (p *pass) resolve(context.Context) outcomes.Outcome {
	if p.deleting {
		return outcomes.Proceed
	}
	var err error
	p.needs, err = p.worker.dependencies(p.key, p.component)
	return outcomes.Of(err)
}

// watched returns the objects that the component is to be woken for: its dependencies and, with a rollout, the definition
// of its type.
func (p *pass) watched() []observe.Name {
	names := namesOf(p.needs)
	if p.worker.rollout != nil && !p.deleting {
		names = append(names, p.worker.rollout.definition)
	}
	return names
}

func namesOf(found []dependency) []observe.Name {
	names := make([]observe.Name, len(found))
	for i, d := range found {
		names[i] = d.Name
	}
	return names
}

// awaitDependencies ends the pass until all dependencies are ready, unless they were ready before with the same
// declaration.
func (p *pass) awaitDependencies(ctx context.Context) outcomes.Outcome {
	if len(p.needs) == 0 && p.status.Dependencies == nil {
		return outcomes.Proceed
	}
	recorded := p.recordDependencies()
	wasMet := p.status.Dependencies.Declaration == p.declared.Digest.Value
	unmet, err := p.unmet(ctx)
	switch {
	case err != nil:
		return outcomes.Of(err)
	case unmet.Kind != outcomes.Continue:
		return unmet
	}
	if !wasMet {
		p.status.Dependencies.Declaration, recorded = p.declared.Digest.Value, true
	}
	if recorded {
		// A finalizer that is not recorded would stay.
		if err := p.record.Save(ctx, p.status.Inventory); err != nil {
			return outcomes.Of(err)
		}
	}
	if err := p.markNeeded(ctx); err != nil && wasMet {
		// Dependents are healed whatever becomes of the dependencies.
		p.log.Error(err, "a dependency cannot be kept from being deleted first")
	} else if err != nil {
		return outcomes.Of(err)
	}
	return outcomes.Proceed
}

// recordDependencies records the declared dependencies beside those that are recorded, and reports whether that is a
// change.
func (p *pass) recordDependencies() (changed bool) {
	var before DependencyStatus
	if p.status.Dependencies != nil {
		before = *p.status.Dependencies
	}
	after := DependencyStatus{Declaration: before.Declaration}
	for _, need := range p.needs {
		after.Objects = append(after.Objects, recordOf(need.Name))
	}
	for _, former := range before.Objects {
		if !slices.ContainsFunc(p.needs, func(need dependency) bool { return dependencies.IsSame(need.Name, former.name()) }) {
			former.Former = true
			after.Objects = append(after.Objects, former)
		}
	}
	p.status.Dependencies = &after
	return !slices.Equal(before.Objects, after.Objects)
}

// unmet waits for the dependencies that are not ready, unless they were ready before with the same declaration. It
// refuses a cycle.
func (p *pass) unmet(ctx context.Context) (outcomes.Outcome, error) {
	if recorded := p.status.Dependencies; recorded != nil && recorded.Declaration == p.declared.Digest.Value {
		return outcomes.Proceed, nil
	}
	self := observe.Name{GroupVersionKind: p.worker.resource.Kind, Namespace: p.key.Namespace, Name: p.key.Name}
	cycle, err := p.worker.objects.Cycle(ctx, self, namesOf(p.needs), recordedIn)
	if err != nil {
		return outcomes.Proceed, err
	}
	if cycle != nil {
		texts := make([]string, len(cycle))
		for i, name := range cycle {
			texts[i] = dependencies.Text(name)
		}
		return outcomes.Of(&reconciler.RefusedError{Problems: []string{"spec.dependsOn: the dependencies form a cycle: " + strings.Join(texts, " needs ")}}), nil
	}
	reasons, wake, err := p.unready(ctx)
	if err != nil || len(reasons) == 0 {
		return outcomes.Proceed, err
	}
	o := outcomes.Outcome{Kind: outcomes.Retriable, Message: "waiting for " + outcomes.Join(reasons, "; ")}
	if wake > 0 {
		o.RetryAfter = &wake
	}
	return o, nil
}

// unready returns the dependencies that are not ready, with the reasons, and the delay after which that may change
// without an event; zero if there is none.
func (p *pass) unready(ctx context.Context) (reasons []string, wake time.Duration, err error) {
	for _, need := range p.needs {
		object, watched, err := p.worker.objects.Read(ctx, need.Name)
		if err != nil {
			return nil, 0, err
		}
		reason, deadline, err := p.worker.objects.Unready(ctx, need.Name, object, need.readyWhen)
		if err != nil {
			return nil, 0, err
		}
		if reason == "" {
			continue
		}
		reasons = append(reasons, dependencies.Text(need.Name)+": "+reason)
		if !watched {
			deadline = outcomes.MissingDelay
		}
		if deadline > 0 && (wake == 0 || deadline < wake) {
			wake = deadline
		}
	}
	return reasons, wake, nil
}

// recordedIn returns the dependencies that a component has recorded.
func recordedIn(object *unstructured.Unstructured) []observe.Name {
	var recorded DependencyStatus
	content, _, _ := unstructured.NestedMap(object.Object, "status", "dependencies")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &recorded) != nil {
		return nil
	}
	var names []observe.Name
	for _, record := range recorded.Objects {
		if !record.Former {
			names = append(names, record.name())
		}
	}
	return names
}

// markNeeded puts the finalizer on the dependencies that are components. It makes no request for those that have it.
func (p *pass) markNeeded(ctx context.Context) error {
	if p.handle.Stored("dependencies") == nil {
		// The definition of the component is older than this operator, and drops the record. Nothing would remove the
		// finalizer.
		return nil
	}
	finalizer := p.neededBy()
	for _, need := range p.needs {
		object, _, err := p.worker.objects.Read(ctx, need.Name)
		if err != nil {
			return err
		}
		if object == nil || !isComponent(object) || slices.Contains(object.GetFinalizers(), finalizer) {
			continue
		}
		if err := p.worker.objects.Mark(ctx, p.handle.Writer(), need.Name, finalizer, true); err != nil {
			return err
		}
	}
	return nil
}

// isComponent reports whether a reconciler of this module has recorded something about the object.
func isComponent(object *unstructured.Unstructured) bool {
	_, found, _ := unstructured.NestedString(object.Object, "status", "processingDigest")
	return found
}

// releaseDependencies removes the finalizer from recorded dependencies: those that are none any more, or all.
func (p *pass) releaseDependencies(ctx context.Context, all bool) error {
	if p.status.Dependencies == nil {
		return nil
	}
	var left []DependencyRecord
	for _, record := range p.status.Dependencies.Objects {
		if !all && !record.Former {
			left = append(left, record)
			continue
		}
		if err := p.worker.objects.Mark(ctx, p.handle.Writer(), record.name(), p.neededBy(), false); err != nil {
			return err
		}
	}
	p.status.Dependencies.Objects = left
	if len(left) == 0 {
		p.status.Dependencies = nil
	}
	return nil
}

// dropDependencies lets former dependencies be deleted.
func (p *pass) dropDependencies(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(p.releaseDependencies(ctx, false))
}

// leaveDependencies lets the dependencies of a deleted component be deleted.
func (p *pass) leaveDependencies(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(p.releaseDependencies(ctx, true))
}

// neededBy is the beginning of the names of finalizers of components that depend on another one.
const neededBy = "needed-by_"

// maxFinalizerName is the maximum length of the part of a finalizer after the slash.
const maxFinalizerName = 63

// neededBy returns the finalizer that the component puts on its dependencies. Its name has the kind, the namespace and
// the name of the component, or a hash if that is too long.
func (p *pass) neededBy() string {
	name := neededBy + p.worker.resource.Kind.Kind + "_" + p.key.Namespace + "_" + p.key.Name
	if len(name) > maxFinalizerName {
		sum := sha256.Sum256([]byte(name))
		name = neededBy + hex.EncodeToString(sum[:16])
	}
	return p.worker.name + "/" + name
}

// needing returns the component that has put the finalizer on one of its dependencies; empty if the finalizer is
// another one.
func needing(finalizer string) string {
	_, name, _ := strings.Cut(finalizer, "/")
	name, isOurs := strings.CutPrefix(name, neededBy)
	if !isOurs {
		return ""
	}
	parts := strings.Split(name, "_")
	if len(parts) != 3 {
		return "the component with the finalizer " + finalizer
	}
	return dependencies.Text(observe.Name{GroupVersionKind: schema.GroupVersionKind{Kind: parts[0]}, Namespace: parts[1], Name: parts[2]})
}

// checkNeeded blocks the deletion while other components depend on this one.
func (p *pass) checkNeeded(ctx context.Context) outcomes.Outcome {
	var by []string
	for _, finalizer := range p.component.GetFinalizers() {
		if name := needing(finalizer); name != "" {
			by = append(by, name)
		}
	}
	if len(by) == 0 {
		return outcomes.Proceed
	}
	if p.handle.IsAnnotated(types.AnnotationKeySuffixIgnoreNeededBy) {
		return outcomes.Of(p.handle.ChangeFinalizers(ctx, func(finalizers []string) []string {
			return slices.DeleteFunc(finalizers, func(finalizer string) bool { return needing(finalizer) != "" })
		}))
	}
	slices.Sort(by)
	return outcomes.Outcome{Kind: outcomes.Blocked, Message: fmt.Sprintf("deletion blocked: needed by %s; delete these first, or set the annotation %s: \"true\"",
		outcomes.Join(by, ", "), p.handle.AnnotationKey(types.AnnotationKeySuffixIgnoreNeededBy))}
}

// watchObjects prepares the watches of objects that components depend on.
func (w *worker) watchObjects(mgr ctrl.Manager, queue *queue.Wakeups) error {
	options := dependencies.Options{
		Client: w.local, Config: w.local.Config(), HTTPClient: w.local.HttpClient(), Notify: waking(w, queue),
		Judge: w.options.judge(w.name), AcrossNamespaces: w.options.CrossNamespaceDependencies, Log: mgr.GetLogger().WithValues("reconciler", w.name),
	}
	if _, isPreview := mgr.(*Preview); isPreview {
		w.objects = dependencies.Unwatched(options)
		return nil
	}
	var err error
	if w.objects, err = dependencies.New(options); err != nil {
		return err
	}
	return mgr.Add(untilEnd(w.objects.Close))
}
