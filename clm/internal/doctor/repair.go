// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// anyType has everything looked into that the server knows.
var anyType = []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}

// lockTimeout is how long a repair waits for the lock of a release: longer than a lock lasts that a dead process has left.
const lockTimeout = 30 * time.Second

// rebuilding writes the record of a release again, which may be intact, damaged or lost.
type rebuilding struct {
	connection *runner.Connection
	// trusted are namespaces in which marks of a release count although it has nothing else there.
	trusted []string
	name    apitypes.NamespacedName
}

// run holds the lock of the release, which need not exist.
func (r *rebuilding) run(ctx context.Context) error {
	locked := &releases.Release{Namespace: r.name.Namespace, Name: r.name.Name}
	o, done, err := runner.Begin(ctx, r.connection, locked, runner.NewQuietBoard(r.connection, "doctor"), runner.Limits{LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	records := r.connection.Records()
	release, err := records.Get(ctx, r.name.Namespace, r.name.Name)
	write := records.Save
	var damaged *releases.DamagedError
	switch {
	case errors.Is(err, releases.ErrNotFound):
		write = records.Restore
		release = locked
		release.State, release.Message = releases.StateApplying, "the record was lost; its revisions are, too"
	case errors.As(err, &damaged):
		if release.State == "" {
			release.State, release.Message = releases.StateApplying, "the record was damaged; its revisions are lost"
		}
	case err != nil:
		return err
	}
	if err := r.complete(ctx, release); err != nil {
		return err
	}
	if err := o.CheckLock(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", release, err)
	}
	isLost := !release.Recorded()
	if err := write(ctx, release); err != nil || !isLost || len(release.Inventory) > 0 {
		return err
	}
	// There are only parts of a record.
	return records.Remove(ctx, release)
}

// complete completes the inventory by the labels of objects, as far as these count.
func (r *rebuilding) complete(ctx context.Context, release *releases.Release) error {
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
	release.Inventory = slices.DeleteFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return !within.Has(item.Namespace) })
	return err
}

// evidenceNamespacesOf returns the namespaces in which marks of a release count as evidence: its own, those of its
// dependents, those of the objects of its current revision, and the trusted ones. Any user can set marks, which are
// labels, annotations and a field manager. In other namespaces they prove nothing: the release has no objects there, and
// its users may have no permissions there. The empty one is for cluster-scoped objects: only users with permissions in
// the whole cluster can set marks there.
func evidenceNamespacesOf(ctx context.Context, records *releases.Store, release *releases.Release, trusted []string) (sets.Set[string], error) {
	found := sets.New("").Insert(namespacesOf(release)...).Insert(trusted...)
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
		found.Insert(object.GetNamespace())
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
