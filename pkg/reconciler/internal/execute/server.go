// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Server makes the requests of one call about dependents, and keeps what it discovers. It is safe for concurrent use.
type Server struct {
	Config

	Label       string       // value of the owner label
	OwnerUID    apitypes.UID // that of the owner's own object, if it is known
	Concurrency int          // the maximum number of concurrent requests
	Permit      func() error // is called before each write; an error forbids it; may be nil

	groups          sync.Map  // functions that return the discovered API groups, by name
	definitionsOnce sync.Once // guards the fields below; see definition
	definitions     unstructured.UnstructuredList
	definitionsErr  error
}

// Read makes a request that changes nothing.
func (api *Server) Read(send func() error) error {
	api.OnOperation("read")
	return send()
}

// Mutate makes a request that may change something. The caller must already have observed the state that guards the
// request. If another process takes over the owner after the permission, the guard fails as soon as that process has
// changed the object. (A create has no such guard: it succeeds even if the other process does not want the object and
// has found it absent.)
func (api *Server) Mutate(operation string, send func() error) error {
	if api.Permit != nil {
		if err := api.Permit(); err != nil {
			return err
		}
	}
	api.OnOperation(operation)
	return send()
}

// Look returns the situation of a dependent. It reads the dependent only if the observer does not know it.
func (api *Server) Look(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	if s, ok := api.Known(item); ok {
		return s, nil
	}
	s, err := api.Ask(ctx, item)
	api.Renew(item, s, err)
	return s, err
}

// Known returns the situation of a dependent according to the observer; ok means that it need not be read. The observer
// does not watch objects without our label.
func (api *Server) Known(item *inventory.Item) (s decide.Situation, ok bool) {
	seen, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch {
	case view == observe.Absent:
		return decide.Situation{Owner: api.Label, Ended: api.Ended(item)}, true
	case view == observe.Present && seen.Owner != "" && !api.Outdated(types.IDOf(item), seen):
		return decide.Situation{Owner: api.Label, Exists: true, Seen: seen}, true
	default:
		return s, false
	}
}

// Renew passes the server's answer about an object to the observer, if the observer has an observation of it.
func (api *Server) Renew(item *inventory.Item, s decide.Situation, err error) {
	if _, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name); err == nil && s.Exists && view == observe.Present {
		api.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	}
}

// Outdated reports whether the status of an object has to be computed again although the object is the same: because of
// the time, or because other rules hold for the owner now.
func (api *Server) Outdated(id types.ObjectID, seen observe.Observation) bool {
	return !seen.Deadline.IsZero() && !api.Clock.Now().Before(seen.Deadline) || seen.Owner == api.Label && seen.Rules != api.Judges.Rules(api.Label, id)
}

// Ask reads a dependent from the server.
func (api *Server) Ask(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	object, err := api.Get(ctx, item)
	s, err := api.situationOf(object, err)
	if !s.Exists {
		s.Ended = api.Ended(item)
	}
	return s, err
}

// Ended returns the outcome of a recorded Job or Pod that is gone, as far as the observer knows it.
func (api *Server) Ended(item *inventory.Item) status.Status {
	last, view := api.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view != observe.Absent || item.UID == "" || last.UID != item.UID {
		return ""
	}
	return last.Outcome
}

// situationOf returns the situation according to the answer of the server.
func (api *Server) situationOf(object *unstructured.Unstructured, err error) (decide.Situation, error) {
	s := decide.Situation{Owner: api.Label, Proven: true}
	if IsGone(err) {
		s.Typed = !IsTypeless(err)
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Exists, s.Live = true, object
	s.Seen, s.Whose = api.Reader.Read(object), object.GetAnnotations()[api.Keys.OwnerAnnotation]
	s.Named = api.named(s.Whose)
	s.Released = object.GetAnnotations()[api.Keys.Digest] == prepare.DigestReleased+api.Label
	s.Rival = decide.RivalOf(object, api.Keys, api.OwnerUID)
	return s, nil
}

// named returns the name of the owner in messages; empty if they use the ID.
func (api *Server) named(owner string) string {
	_, name, found := strings.Cut(owner, "/")
	if api.OwnerKind == "" || !found {
		return ""
	}
	return api.OwnerKind + " " + strings.TrimPrefix(name, "/")
}

// Get returns a dependent from the server.
func (api *Server) Get(ctx context.Context, item *inventory.Item) (*unstructured.Unstructured, error) {
	return api.get(ctx, item, func(read func(cluster.Client) error) error {
		return api.Read(func() error { return read(api.Client) })
	})
}

func (api *Server) get(ctx context.Context, item *inventory.Item, request func(read func(cluster.Client) error) error) (object *unstructured.Unstructured, err error) {
	err = request(func(clnt cluster.Client) (err error) {
		object, err = LookUp(ctx, clnt, item)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", types.IDOf(item), err)
	}
	return object, nil
}

// Observer provides the state of dependents from watches; see observe.Cache. Owners are identified by the value of
// their label.
type Observer interface {
	Watch(ctx context.Context, owner string, needs []observe.Need) error
	Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View)
	Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation)
	WatchNames(ctx context.Context, owner string, names []observe.Name) error
	Version(name observe.Name) (version string, view observe.View)
}

// Config has the parts that all servers of one reconciler share. All fields but Reading are required.
type Config struct {
	Client cluster.Client
	// Reading makes the reads that Client may not make; nil if there is no such client.
	Reading  cluster.Client
	Observer Observer
	Reader   *observe.Reader
	// Judges are the judges of Reader.
	Judges *judges.Judges
	Keys   prepare.Keys
	// OwnerKind is the kind of owners in messages; empty if messages use the ID.
	OwnerKind string
	// FieldOwner is the field manager of all writes.
	FieldOwner string
	// OnOperation is called for each request; see reconciler.Options.
	OnOperation func(action string)
	Clock       clock.PassiveClock
}

// DryRun returns a configuration in which all writes are dry runs.
func (c Config) DryRun() Config {
	count := c.OnOperation
	c.Client = cluster.NewClient(client.NewDryRunClient(c.Client), c.Client.DiscoveryClient(), c.Client.EventRecorder(), c.Client.Config(), c.Client.HttpClient())
	c.OnOperation = func(string) { count("read") }
	return c
}

// Executor makes the requests that change dependents. It is safe for concurrent use for different dependents.
type Executor struct {
	Server    *Server
	Owner     decide.Owner
	Manifests *prepare.Manifests // nil if the call applies nothing
	Report    *decide.Reporter
	// Finalizers are put on dependents that define types, and on those whose outcome has to be recorded.
	Finalizers annotations.Finalizers
	// Retains means that dependents keep our finalizer until their outcome is recorded.
	Retains bool
	// Reclaimed are prefixes of the names of field managers whose additions UpdatePolicySsaOverride removes.
	Reclaimed []string
	// ReclaimedNames are names of further such field managers.
	ReclaimedNames []string
	// CreateNamespaces creates missing namespaces.
	CreateNamespaces bool

	namespaces sync.Map // functions that create missing namespaces, and return the outcome, by name
}

// MaxAttempts is the maximum number of attempts of a write while the object keeps changing; each attempt is a new
// decision.
const MaxAttempts = 5

// CreateOnly is a resource version that no object has. An apply with it creates the object or fails with a conflict; so
// it never changes an object that was not observed.
const CreateOnly = "1"

// ReadAnyway makes a read that a deletion depends on: as the client or, if that is forbidden, as the client of the
// reconciler from which Reconciler.As made this one.
func (api *Server) ReadAnyway(read func(cluster.Client) error) error {
	err := api.Read(func() error { return read(api.Client) })
	if api.Reading == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return api.Read(func() error { return read(api.Reading) })
}

// AskAnyway is Ask with ReadAnyway.
func (api *Server) AskAnyway(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	return api.situationOf(api.get(ctx, item, api.ReadAnyway))
}

// LookUp reads an object in its recorded version.
func LookUp(ctx context.Context, clnt client.Client, item *inventory.Item) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	switch {
	case err == nil && object.GetNamespace() != item.Namespace:
		// The client has left out the namespace because the type is cluster-scoped now. This is another object.
		return nil, ErrOtherScope
	case err != nil && isMisplaced(clnt, item, err):
		return nil, ErrOtherScope
	default:
		return object, err
	}
}

// IsNamespaced reports whether the client considers a type namespaced.
func (api *Server) IsNamespaced(gvk schema.GroupVersionKind) bool {
	isNamespaced, _ := apiutil.IsGVKNamespaced(gvk, api.Client.RESTMapper())
	return isNamespaced
}

// isMisplaced reports whether the client has sent no request because the type is namespaced, and the recorded object
// is not.
func isMisplaced(clnt client.Client, item *inventory.Item, err error) bool {
	var status apierrors.APIStatus
	if item.Namespace != "" || errors.As(err, &status) || cluster.IsNoMatch(err) {
		return false
	}
	isNamespaced, _ := apiutil.IsGVKNamespaced(item.GroupVersionKind(), clnt.RESTMapper())
	return isNamespaced
}

// ListPage is the number of objects in one page of a list.
const ListPage = 500

// Each lists the objects of a type page by page, whole or only their metadata, until visit returns false.
func (api *Server) Each(
	ctx context.Context, clnt client.Reader, kind schema.GroupVersionKind, whole bool, visit func(client.Object) (more bool, err error), options ...client.ListOption,
) error {
	for next, more := "", true; more; {
		var list client.ObjectList = &metav1.PartialObjectMetadataList{}
		if whole {
			list = &unstructured.UnstructuredList{}
		}
		list.GetObjectKind().SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		page := slices.Concat([]client.ListOption{client.Limit(ListPage)}, options, []client.ListOption{client.Continue(next)})
		if err := api.Read(func() error { return clnt.List(ctx, list, page...) }); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(item runtime.Object) (err error) {
			object, ok := item.(client.Object)
			if !ok || !more {
				return nil
			}
			object.GetObjectKind().SetGroupVersionKind(kind)
			more, err = visit(object)
			return err
		})
		if next = list.GetContinue(); next == "" || err != nil {
			return err
		}
	}
	return nil
}
