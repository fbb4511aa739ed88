// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// anyType has everything looked into that the server knows.
var anyType = []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}

// underLock does the work while it holds the lock of a release, which need not exist. It does not wait for others.
func (s *Session) underLock(ctx context.Context, name apitypes.NamespacedName, work func(ctx context.Context, o *operation) error) error {
	quiet := *s
	quiet.options.Printer = silent{}
	release := &releases.Release{Namespace: name.Namespace, Name: name.Name}
	o, done, err := quiet.begin(ctx, release, newBoard(&quiet, "repair", name.String()), Limits{LockTimeout: -1})
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := o.watchLock(ctx)
	defer stop()
	return work(ctx, o)
}

// rebuilding writes a damaged record anew.
func (s *Session) rebuilding(name apitypes.NamespacedName, trusted []string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.underLock(ctx, name, func(ctx context.Context, o *operation) error {
			release, err := s.records.Get(ctx, name.Namespace, name.Name)
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
			return o.rebuild(ctx, release, trusted, s.records.Save)
		})
	}
}

// restoring writes a record for a release that has lost it, or removes what is left of it if there are no dependents.
func (s *Session) restoring(name apitypes.NamespacedName, trusted []string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.underLock(ctx, name, func(ctx context.Context, o *operation) error {
			_, err := s.records.Get(ctx, name.Namespace, name.Name)
			if !errors.Is(err, releases.ErrNotFound) {
				return err
			}
			release := &releases.Release{
				Namespace: name.Namespace, Name: name.Name, State: releases.StateApplying, Message: "the record was lost; its revisions are, too",
			}
			if err := o.rebuild(ctx, release, trusted, s.records.Restore); err != nil || len(release.Inventory) > 0 {
				return err
			}
			return s.records.Remove(ctx, release)
		})
	}
}

// recording adds objects to the record that have the mark of the release.
func (s *Session) recording(name apitypes.NamespacedName, trusted []string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.underLock(ctx, name, func(ctx context.Context, o *operation) error {
			release, err := s.records.Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return o.rebuild(ctx, release, trusted, s.records.Save)
		})
	}
}

// rebuild completes the inventory by the labels of objects, as far as these count, and writes the record.
func (o *operation) rebuild(ctx context.Context, release *releases.Release, trusted []string, write func(context.Context, *releases.Release) error) error {
	within, err := o.territoryOf(ctx, release, trusted)
	if err != nil {
		return err
	}
	t, err := o.target(releases.OwnerID(release.Namespace, release.Name), nil)
	if err != nil {
		return err
	}
	defer t.close()
	request := reconciler.RebuildRequest{ID: t.owner, Known: release.Inventory, Types: anyType, Namespaces: namespacesOf(release)}
	if current := release.Current(); current != nil {
		request.Policies = current.Policies
	}
	result, err := t.engine.Rebuild(ctx, request)
	if err != nil {
		return err
	}
	if err := o.lock.Fence(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", release, err)
	}
	release.Inventory = slices.DeleteFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return !within.has(item.Namespace) })
	return write(ctx, release)
}

// tidying removes what the record does not need.
func (s *Session) tidying(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.underLock(ctx, name, func(ctx context.Context, _ *operation) error {
			release, err := s.records.Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return s.records.Tidy(ctx, release)
		})
	}
}

// takingOver removes the record of an earlier clm.
func (s *Session) takingOver(name apitypes.NamespacedName) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.underLock(ctx, name, func(ctx context.Context, _ *operation) error {
			release, err := s.records.Get(ctx, name.Namespace, name.Name)
			if err != nil {
				return err
			}
			return s.records.FinishTakeOver(ctx, release)
		})
	}
}
