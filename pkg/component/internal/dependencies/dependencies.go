// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies reads and watches the objects that components depend on, and marks those that are components
// themselves as needed.
package dependencies

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/status"
)

// Options configure Objects.
type Options struct {
	// Client reads without a cache, and writes. Required.
	Client client.Client
	// Config and HTTPClient are those of the watches.
	Config     *rest.Config
	HTTPClient *http.Client
	// Notify is called with a component when an object that it uses has changed. It must not block.
	Notify func(component apitypes.NamespacedName)
	// Judge determines whether an object is ready.
	Judge status.Judge
	// AcrossNamespaces lets namespaced components use objects outside of their namespace.
	AcrossNamespaces bool
	Log              logr.Logger
}

// Objects are the objects that the components of one operator depend on. It is safe for concurrent use.
type Objects struct {
	options     Options
	judge       status.Judge
	definitions *judges.Definitions
	watches     *observe.Cache // nil if nothing is watched

	// kept has the content of watched objects, as it was read last.
	kept *lru.Cache
}

// maxKept limits the objects whose content is kept. What is needed of further ones is read when it is needed.
const maxKept = 10_000

// New returns Objects that watch.
func New(options Options) (*Objects, error) {
	watches, err := observe.New(observe.Options{
		Config: options.Config, HTTPClient: options.HTTPClient, Mapper: options.Client.RESTMapper(), Log: options.Log,
		Notify: func(owner string) {
			namespace, name, _ := strings.Cut(owner, "/")
			options.Notify(apitypes.NamespacedName{Namespace: namespace, Name: name})
		},
	})
	o := Unwatched(options)
	o.watches = watches
	return o, err
}

// Unwatched returns Objects that read each time.
func Unwatched(options Options) *Objects {
	o := &Objects{options: options, definitions: judges.NewDefinitions(options.Client), kept: lru.New(maxKept)}
	o.judge = judges.Await(options.Judge, o.definitions)
	return o
}

// Close ends all watches.
func (o *Objects) Close() {
	if o.watches != nil {
		o.watches.Close()
	}
}

// Target names an object in a spec.
type Target struct {
	APIVersion, Kind, Namespace, Name string
}

// InvalidError says which field of a Target is wrong, and what is allowed.
type InvalidError struct{ error }

// Invalid returns an InvalidError.
func Invalid(format string, values ...any) error { return InvalidError{fmt.Errorf(format, values...)} }

// Resolve returns the object that a component means. If the target is not allowed, the error is an InvalidError. Objects
// of types that are not served count as namespaced if the component is.
func (o *Objects) Resolve(component apitypes.NamespacedName, t Target) (observe.Name, error) {
	version, err := schema.ParseGroupVersion(t.APIVersion)
	switch {
	case err != nil || version.Version == "":
		return observe.Name{}, Invalid("apiVersion: invalid value %q: must be VERSION or GROUP/VERSION", t.APIVersion)
	case t.Kind == "":
		return observe.Name{}, Invalid("kind: a kind is required")
	case t.Name == "":
		return observe.Name{}, Invalid("name: a name is required")
	case version.Group == "" && t.Kind == "Secret":
		return observe.Name{}, Invalid("kind: Secret is not allowed, because expressions could reveal its content; refer to a key of it instead")
	}
	return o.place(component, t, observe.Name{GroupVersionKind: version.WithKind(t.Kind), Namespace: cmp.Or(t.Namespace, component.Namespace), Name: t.Name})
}

// place sets the namespace of an object according to the scope of its type.
func (o *Objects) place(component apitypes.NamespacedName, t Target, name observe.Name) (observe.Name, error) {
	mapping, err := o.options.Client.RESTMapper().RESTMapping(name.GroupKind(), name.Version)
	isServed := err == nil
	if err != nil && !cluster.IsNoMatch(err) {
		return name, fmt.Errorf("finding the type of %s: %w", Text(name), err)
	}
	isGlobal := isServed && mapping.Scope.Name() == meta.RESTScopeNameRoot
	const allowed = "the operator's option CrossNamespaceDependencies allows others"
	switch {
	case isGlobal && t.Namespace != "":
		return name, Invalid("namespace: invalid value %q: %s is cluster-scoped; leave the field empty", t.Namespace, t.Kind)
	case isGlobal && component.Namespace != "" && !o.options.AcrossNamespaces:
		return name, Invalid("kind: %s is cluster-scoped; only objects in the namespace of the component are allowed; %s", t.Kind, allowed)
	case isGlobal:
		name.Namespace = ""
	case name.Namespace == "" && isServed:
		return name, Invalid("namespace: a namespace is required, because the component has none")
	case component.Namespace != "" && name.Namespace != component.Namespace && !o.options.AcrossNamespaces:
		return name, Invalid("namespace: invalid value %q: must be that of the component, %q; %s", t.Namespace, component.Namespace, allowed)
	}
	return name, nil
}

// Use declares all objects that a component uses, before they are read; those of an earlier call are dropped. It
// returns when each of them is either watched or known not to be watchable.
func (o *Objects) Use(ctx context.Context, component apitypes.NamespacedName, names []observe.Name) error {
	if o.watches == nil {
		return nil
	}
	if err := o.watches.WatchNames(ctx, component.String(), names); err != nil {
		return fmt.Errorf("watching the objects that the component depends on: %w", err)
	}
	return nil
}

// Drop drops all objects that a component uses.
func (o *Objects) Drop(component apitypes.NamespacedName) {
	_ = o.Use(context.Background(), component, nil) // there is nothing to wait for
}

// Read returns an object, which must not be changed; nil if it does not exist. It makes a request only if the object has
// changed since the last one, or is not watched, which it reports.
func (o *Objects) Read(ctx context.Context, name observe.Name) (object *unstructured.Unstructured, watched bool, err error) {
	version, view := "", observe.Unseen
	if o.watches != nil {
		version, view = o.watches.Version(name)
	}
	if view == observe.Absent {
		return nil, true, nil
	}
	if known, found := o.kept.Get(name); view == observe.Present && found {
		kept, _ := known.(*unstructured.Unstructured)
		if kept.GetResourceVersion() == version || apiserver.Older(version, kept.GetResourceVersion()) {
			return kept, true, nil
		}
	}
	if object, err = o.get(ctx, name); err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", Text(name), err)
	}
	if view == observe.Present && object != nil {
		o.kept.Add(name, object)
	}
	return object, view == observe.Present, nil
}

// get reads an object from the API server; it returns nil if the object does not exist.
func (o *Objects) get(ctx context.Context, name observe.Name) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(name.GroupVersionKind)
	err := o.options.Client.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: name.Name}, object)
	switch {
	case apierrors.IsNotFound(err) || cluster.IsNoMatch(err):
		return nil, nil //nolint:nilnil // it does not exist
	case err != nil:
		return nil, err //nolint:wrapcheck // callers name the object
	case object.GetNamespace() != name.Namespace:
		return nil, nil //nolint:nilnil // the type has become cluster-scoped; this is another object
	default:
		return observe.Kept(object), nil
	}
}

// Unready says why an object is not ready, nil if it does not exist; empty if it is ready. An expression, if given,
// decides instead of the judge. wake is the delay after which the answer may be another one without an event; zero if
// there is none.
func (o *Objects) Unready(ctx context.Context, name observe.Name, object *unstructured.Unstructured, readyWhen *judges.Expression) (reason string, wake time.Duration, err error) {
	mapping, err := o.options.Client.RESTMapper().RESTMapping(name.GroupKind(), name.Version)
	switch {
	case cluster.IsNoMatch(err):
		return "its type is not served", 0, nil
	case err != nil:
		return "", 0, fmt.Errorf("finding the type of %s: %w", Text(name), err)
	case object == nil:
		return "does not exist", 0, nil
	case object.GetDeletionTimestamp() != nil:
		return "is being deleted", 0, nil
	}
	if readyWhen != nil {
		switch holds, err := readyWhen.Holds(object, judges.NewBudget(judges.Full)); {
		case err != nil:
			return fmt.Sprintf("readyWhen %q has no result: %v", readyWhen, err), 0, nil
		case !holds:
			return fmt.Sprintf("readyWhen %q is false", readyWhen), 0, nil
		}
		return "", 0, nil
	}
	if err := o.definitions.Recall(ctx, name.GroupVersionKind, mapping.Resource.Resource); err != nil {
		return "", 0, err
	}
	result := judges.Guarded(o.judge, object)
	if result.Status == status.CurrentStatus {
		return "", 0, nil
	}
	return strings.TrimSuffix("not ready: "+cmp.Or(result.Message, "status is "+result.Status.String()), "."), result.Deadline, nil
}

// IsSame reports whether two names mean the same object, perhaps in different versions of its type.
func IsSame(a, b observe.Name) bool {
	return a.GroupKind() == b.GroupKind() && a.Namespace == b.Namespace && a.Name == b.Name
}

// maxFollowed limits the objects that Cycle reads.
const maxFollowed = 100

// Cycle returns the objects on the way from a component back to itself, along the dependencies that the objects have
// recorded; nil if there is none. The function next returns the recorded dependencies of an object.
func (o *Objects) Cycle(ctx context.Context, self observe.Name, first []observe.Name, next func(*unstructured.Unstructured) []observe.Name) ([]observe.Name, error) {
	seen := map[observe.Name]bool{}
	var follow func(at observe.Name, way []observe.Name) ([]observe.Name, error)
	follow = func(at observe.Name, way []observe.Name) ([]observe.Name, error) {
		way = append(slices.Clone(way), at)
		if IsSame(at, self) {
			return way, nil
		}
		if seen[at] || len(seen) >= maxFollowed {
			return nil, nil
		}
		seen[at] = true
		object, _, err := o.Read(ctx, at)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if object == nil {
			return nil, nil
		}
		for _, further := range next(object) {
			if found, err := follow(further, way); found != nil || err != nil {
				return found, err
			}
		}
		return nil, nil
	}
	for _, name := range first {
		if found, err := follow(name, []observe.Name{self}); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// served returns the name in a version of its type that is served; without a version if the type is not served at all.
// A recorded version may no longer be served, and the object still exist.
func (o *Objects) served(ctx context.Context, name observe.Name) (observe.Name, error) {
	mapper := o.options.Client.RESTMapper()
	if _, err := mapper.RESTMapping(name.GroupKind(), name.Version); err == nil {
		return name, nil
	}
	if err := cluster.RenewTypes(ctx, mapper, name.Group); err != nil {
		return name, fmt.Errorf("finding the type of %s: %w", Text(name), err)
	}
	mapping, err := mapper.RESTMapping(name.GroupKind())
	switch {
	case cluster.IsNoMatch(err):
		name.Version = ""
	case err != nil:
		return name, fmt.Errorf("finding the type of %s: %w", Text(name), err)
	default:
		name.GroupVersionKind = mapping.GroupVersionKind
	}
	return name, nil
}

// maxConflicts is how often a write is repeated after a conflict.
const maxConflicts = 5

// Mark adds a finalizer to an object, or removes it. It does nothing if the object does not exist, and adds nothing to
// an object that is being deleted.
func (o *Objects) Mark(ctx context.Context, writer client.Client, name observe.Name, finalizer string, needed bool) error {
	name, err := o.served(ctx, name)
	if err != nil || name.Version == "" {
		return err
	}
	for range maxConflicts {
		object, err := o.get(ctx, name)
		if err != nil || object == nil || slices.Contains(object.GetFinalizers(), finalizer) == needed || needed && object.GetDeletionTimestamp() != nil {
			return err
		}
		finalizers := slices.DeleteFunc(object.GetFinalizers(), func(other string) bool { return other == finalizer })
		if needed {
			finalizers = append(finalizers, finalizer)
		}
		patch, err := apiserver.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
		if err != nil {
			return err
		}
		patched := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		patched.SetGroupVersionKind(name.GroupVersionKind)
		if err = writer.Patch(ctx, patched, patch); err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apiserver.IsOutdated(err) {
			return fmt.Errorf("writing the finalizer %s of %s: %w", finalizer, Text(name), err)
		}
	}
	return fmt.Errorf("writing the finalizer %s of %s: other clients keep changing it", finalizer, Text(name))
}

// Text names an object in messages.
func Text(name observe.Name) string {
	return name.Kind + " " + strings.TrimPrefix(name.Namespace+"/"+name.Name, "/")
}
