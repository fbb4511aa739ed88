// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// anyType has everything looked into that the server knows.
var anyType = []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}

// repairs are what can be done about the records and locks of releases. Each of them is a function that is called
// later, with --fix.
type repairs struct {
	connection *connection.Connection
	// trusted are namespaces in which marks of a release count although it has nothing else there.
	trusted []string
}

// underLock does the work while it holds the lock of a release, which need not exist. It does not wait for others.
func (r *repairs) underLock(ctx context.Context, name apitypes.NamespacedName, work func(ctx context.Context, o *runner.Operation) error) error {
	release := &releases.Release{Namespace: name.Namespace, Name: name.Name}
	o, done, err := runner.Begin(ctx, r.connection, release, runner.NewQuietBoard(r.connection, "doctor"), runner.Limits{LockTimeout: -1})
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	return work(ctx, o)
}

// rebuilding rewrites a damaged record.
func (r *repairs) rebuilding(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return r.underLock(ctx, name, func(ctx context.Context, o *runner.Operation) error {
			release, err := r.connection.Records().Get(ctx, name.Namespace, name.Name)
			var damaged *releases.DamagedError
			if err == nil {
				return nil
			}
			if !errors.As(err, &damaged) {
				return err
			}
			if release.State == "" {
				release.State, release.Message = releases.StateApplying, "the record was damaged; its revisions are lost"
			}
			return r.rebuild(ctx, o, release, r.connection.Records().Save)
		})
	}
}

// restoring writes a record for a release that has lost it, or removes what is left of it if there are no dependents.
func (r *repairs) restoring(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return r.underLock(ctx, name, func(ctx context.Context, o *runner.Operation) error {
			_, err := r.connection.Records().Get(ctx, name.Namespace, name.Name)
			if !errors.Is(err, releases.ErrNotFound) {
				return err
			}
			release := &releases.Release{
				Namespace: name.Namespace, Name: name.Name, State: releases.StateApplying, Message: "the record was lost; its revisions are, too",
			}
			if err := r.rebuild(ctx, o, release, r.connection.Records().Restore); err != nil || len(release.Inventory) > 0 {
				return err
			}
			return r.connection.Records().Remove(ctx, release)
		})
	}
}

// recording adds objects to the record that have the mark of the release.
func (r *repairs) recording(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return r.underLock(ctx, name, func(ctx context.Context, o *runner.Operation) error {
			release, err := r.connection.Records().Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return r.rebuild(ctx, o, release, r.connection.Records().Save)
		})
	}
}

// rebuild completes the inventory by the labels of objects, as far as these count, and writes the record.
func (r *repairs) rebuild(ctx context.Context, o *runner.Operation, release *releases.Release, write func(context.Context, *releases.Release) error) error {
	within, err := evidenceNamespacesOf(ctx, r.connection.Records(), release, r.trusted)
	if err != nil {
		return err
	}
	t, err := runner.NewTarget(r.connection, releases.OwnerID(release.Namespace, release.Name), nil)
	if err != nil {
		return err
	}
	defer t.Close()
	request := reconciler.RebuildRequest{ID: t.Owner(), Known: release.Inventory, Types: anyType, Namespaces: namespacesOf(release)}
	if current := release.Current(); current != nil {
		request.Policies = current.Policies
	}
	result, err := t.Engine().Rebuild(ctx, request)
	if err != nil {
		return err
	}
	if err := o.CheckLock(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", release, err)
	}
	release.Inventory = slices.DeleteFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return !within.has(item.Namespace) })
	return write(ctx, release)
}

// evidenceNamespaces are the namespaces in which marks of a release count as evidence. Any user can set marks, which
// are labels, annotations and a field manager. In other namespaces they prove nothing: the release has no objects
// there, and its users may have no permissions there.
type evidenceNamespaces map[string]bool

// has reports whether marks in a namespace count. Marks on cluster-scoped objects do: only users with permissions in
// the whole cluster can set them.
func (t evidenceNamespaces) has(namespace string) bool { return namespace == "" || t[namespace] }

// evidenceNamespacesOf returns the namespace of a release, those of its dependents, those of the objects of its current
// revision, and the trusted ones.
func evidenceNamespacesOf(ctx context.Context, records *releases.Store, release *releases.Release, trusted []string) (evidenceNamespaces, error) {
	found := evidenceNamespaces{}
	for _, namespace := range append(namespacesOf(release), trusted...) {
		found[namespace] = true
	}
	current := release.Current()
	if current == nil {
		return found, nil
	}
	content, err := records.Content(ctx, release, current.Number)
	var damaged *releases.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	for _, object := range content.Manifest {
		if namespace := object.GetNamespace(); namespace != "" {
			found[namespace] = true
		}
	}
	return found, nil
}

// namespacesOf returns the namespaces that a release is in; sorted.
func namespacesOf(release *releases.Release) []string {
	namespaces := []string{release.Namespace}
	for _, item := range release.Inventory {
		if item.Namespace != "" {
			namespaces = append(namespaces, item.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
