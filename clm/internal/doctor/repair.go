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
	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/transfer"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// anyType has everything looked into that the server knows.
var anyType = []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}

// repairs are what can be done about the records and locks of releases. Each of them is a function that is called later, with --fix.
type repairs struct {
	connection *connection.Connection
	// trusted are namespaces in which marks of a release count although it has nothing else there.
	trusted []string
}

// lettingGo is what a release has recorded although other releases own it and render it, as after a move that was interrupted. The findings about
// these objects have their repair in common: one further revision.
type lettingGo struct {
	release apitypes.NamespacedName
	objects []dependents.Object
	// done means that it was tried; err is what came of it.
	done bool
	err  error
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

// tidying removes what the record does not need.
func (r *repairs) tidying(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return r.underLock(ctx, name, func(ctx context.Context, _ *runner.Operation) error {
			release, err := r.connection.Records().Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return r.connection.Records().Tidy(ctx, release)
		})
	}
}

// takingOver removes the record of an earlier clm.
func (r *repairs) takingOver(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return r.underLock(ctx, name, func(ctx context.Context, _ *runner.Operation) error {
			release, err := r.connection.Records().Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return r.connection.Records().FinishTakeOver(ctx, release)
		})
	}
}

// lettingGo takes objects out of the record of a release that others own.
func (r *repairs) lettingGo(l *lettingGo) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if !l.done {
			l.done, l.err = true, r.underLock(ctx, l.release, func(ctx context.Context, o *runner.Operation) error {
				return transfer.LetGo(ctx, r.connection, o, l.objects)
			})
		}
		return l.err
	}
}
