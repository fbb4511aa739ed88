// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
)

// listView is the content of the list: releases and components, those that need attention first.
type listView struct {
	Groups []listGroup
	Notes  []string
	// Complete means that everything was listed.
	Complete bool
}

// listGroup are the rows in a state.
type listGroup struct {
	State string
	Rows  []listRow
}

// listRow is a release or a component.
type listRow struct {
	Kind, Namespace, Name, State, Path, Sources, Message string
	// Dependents is the number of dependents; -1 if it is not known.
	Dependents int
	Updated    time.Time
}

func (s *site) list() liveView {
	return liveView{feed: "list", run: s.followList, content: func(value any, _ url.Values) (string, any) {
		listed, _ := value.(listView)
		return "list", struct {
			*site
			listView
		}{s, listed}
	}}
}

func (s *site) showList(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, page{site: s, Title: "Releases and components"}, s.list())
}

func (s *site) streamList(w http.ResponseWriter, r *http.Request) { s.stream(w, r, s.list()) }

// lastGroups are the states whose groups come last, in this order. All others need attention, and come first.
var lastGroups = []string{string(releases.StateApplying), string(component.StateProcessing), string(releases.StateDeleting), string(component.StateReady)}

// listing collects the rows of one feed.
type listing struct {
	tell func(value any, trouble string)

	mu    sync.Mutex
	rows  map[string][]listRow // by type; nil until it is listed
	notes map[string]bool
}

// await says that a type will be listed.
func (l *listing) await(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows[kind] = nil
}

// set replaces the rows of a type, and tells all.
func (l *listing) set(kind string, rows []listRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows[kind] = append([]listRow{}, rows...)
	l.tellLocked()
}

// fail says why the rows of a type cannot be shown.
func (l *listing) fail(kind string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rows, kind)
	l.notes[kind+" are not shown: "+err.Error()] = true
	l.tellLocked()
}

func (l *listing) tellLocked() {
	if rows, awaited := l.rows[releaseType]; awaited && rows == nil {
		return
	}
	groups := map[string][]listRow{}
	for _, rows := range l.rows {
		for _, row := range rows {
			groups[row.State] = append(groups[row.State], row)
		}
	}
	view := listView{Notes: slices.Sorted(maps.Keys(l.notes)), Complete: len(l.notes) == 0}
	for _, rows := range l.rows {
		view.Complete = view.Complete && rows != nil
	}
	for state, rows := range groups {
		slices.SortFunc(rows, func(a, b listRow) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
		view.Groups = append(view.Groups, listGroup{State: state, Rows: rows})
	}
	slices.SortFunc(view.Groups, func(a, b listGroup) int {
		return cmp.Or(cmp.Compare(slices.Index(lastGroups, a.State), slices.Index(lastGroups, b.State)), cmp.Compare(a.State, b.State))
	})
	l.tell(view, "")
}

// followList is the source of the list.
func (s *site) followList(ctx context.Context, tell func(value any, trouble string)) error {
	const schemas = "types of components"
	l := &listing{tell: tell, rows: map[string][]listRow{releaseType: nil, schemas: nil}, notes: map[string]bool{}}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() {
		types, err := componentTypes(ctx, s.Connection)
		for _, mapping := range types {
			l.await(mapping.Resource.GroupResource().String())
			running.Go(func() { s.listComponents(ctx, l, mapping) })
		}
		if err == nil {
			l.set(schemas, nil)
		} else if ctx.Err() == nil {
			l.fail(schemas, err)
		}
	})
	return s.listReleases(ctx, l)
}

// listPause is the minimum time between two lists of the releases.
const listPause = time.Second

// listReleases lists the releases, and again after each change of a record.
func (s *site) listReleases(ctx context.Context, l *listing) error {
	woken := make(chan struct{}, 1)
	failed := make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		failed <- s.Connection.Records().Watch(watching, s.Namespace, "", func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
	})
	for {
		select {
		case <-woken:
		case err := <-failed:
			if !apierrors.IsForbidden(err) {
				return err
			}
			l.fail(releaseType, err)
			<-ctx.Done()
			return nil
		case <-ctx.Done():
			return nil
		}
		found, err := s.Connection.Records().List(ctx, s.Namespace, nil)
		if err != nil {
			return err
		}
		l.set(releaseType, display.Map(found, s.releaseRow))
		select {
		case <-time.After(listPause):
		case <-ctx.Done():
		}
	}
}

func (s *site) releaseRow(release *releases.Release) listRow {
	row := listRow{
		Kind: "Release", Namespace: release.Namespace, Name: release.Name, State: cmp.Or(string(release.State), "Unknown"), Path: s.pathOf(releaseType, release.Namespace, release.Name),
		Dependents: release.Items(), Updated: release.Updated, Message: display.OneText(release.Text()),
	}
	if current := release.Current(); current != nil {
		row.Sources = releases.SourceTexts(current.Sources)
	}
	return row
}

// listComponents lists and watches the components of a type.
func (s *site) listComponents(ctx context.Context, l *listing, mapping *meta.RESTMapping) {
	kind := mapping.Resource.GroupResource().String()
	objects, err := dynamic.NewForConfigAndClient(s.Connection.Client().Config(), s.Connection.Client().HttpClient())
	if err != nil {
		l.fail(kind, err)
		return
	}
	resource := objects.Resource(mapping.Resource)
	source := apiserver.ListWatch(resource, apiserver.ListSelection{})
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		source = apiserver.ListWatch(resource.Namespace(s.Namespace), apiserver.ListSelection{})
	}
	rows := map[string]listRow{}
	take := func(change apiserver.Change) error {
		if change.Trouble != nil {
			l.tell(nil, change.Trouble.Error())
			return nil
		}
		if change.All {
			clear(rows)
		}
		for _, object := range change.Objects {
			if found, ok := object.(*unstructured.Unstructured); ok {
				row := s.componentRow(found, kind)
				if rows[row.Path] = row; change.Deleted {
					delete(rows, row.Path)
				}
			}
		}
		l.set(kind, slices.Collect(maps.Values(rows)))
		return nil
	}
	for {
		err := apiserver.Watch(ctx, source, take)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err):
			l.fail(kind, err)
			return
		case err != nil:
			l.tell(nil, err.Error())
		}
		select {
		case <-time.After(reconnect):
		case <-ctx.Done():
			return
		}
	}
}

func (s *site) componentRow(object *unstructured.Unstructured, kind string) listRow {
	row := listRow{
		Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), State: "New", Path: s.pathOf(kind, object.GetNamespace(), object.GetName()),
		Dependents: -1, Updated: object.GetCreationTimestamp().Time,
	}
	var status component.Status
	content, _, _ := unstructured.NestedMap(object.Object, "status")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status) == nil && status.State != "" {
		state, _, message := status.GetState()
		row.State, row.Dependents = string(state), len(status.Inventory)
		if row.Message = display.OneText(message); status.IsReady() {
			row.Message = ""
		}
		if record := status.InventoryRecord; record != nil && !record.Inline {
			row.Dependents = record.Items
		}
	}
	return row
}

// componentTypes finds the types whose status is that of a component, in the schemas that the API server publishes to
// every user.
func componentTypes(ctx context.Context, c *runner.Connection) ([]*meta.RESTMapping, error) {
	paths, err := c.Client().DiscoveryClient().OpenAPIV3().Paths()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	kinds := map[schema.GroupKind]bool{}
	custom := slices.DeleteFunc(slices.Collect(maps.Keys(paths)), func(path string) bool {
		group, _, found := strings.Cut(strings.TrimPrefix(path, "apis/"), "/")
		return !found || !strings.HasPrefix(path, "apis/") || apiserver.IsBuiltIn(group)
	})
	const atOnce = 4
	err = concurrent.Each(atOnce, custom, func(_ int, path string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		raw, err := paths[path].Schema(runtime.ContentTypeJSON)
		if err != nil {
			return err
		}
		found, err := componentKinds(raw)
		mu.Lock()
		defer mu.Unlock()
		for _, kind := range found {
			kinds[kind] = true
		}
		return err
	})
	var types []*meta.RESTMapping
	for kind := range kinds {
		mapping, missing := c.Client().RESTMapper().RESTMapping(kind)
		if err = errors.Join(err, missing); missing == nil {
			types = append(types, mapping)
		}
	}
	return types, err
}

// componentKinds returns the kinds in an OpenAPI document whose status is that of a component.
func componentKinds(raw []byte) ([]schema.GroupKind, error) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				Properties struct {
					Status struct {
						Properties map[string]json.RawMessage `json:"properties"`
					} `json:"status"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("reading the schemas of the API server: %w", err)
	}
	var kinds []schema.GroupKind
	for _, found := range document.Components.Schemas {
		status := found.Properties.Status.Properties
		if len(found.Kinds) == 1 && status["state"] != nil && status["inventory"] != nil && status["processingDigest"] != nil {
			kinds = append(kinds, found.Kinds[0].GroupKind())
		}
	}
	return kinds, nil
}
