// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
)

// AwaitDependencies waits until the releases are ready on which the release depends, all together at most for the given
// time; see Request.Await. The error is a RefusedError if the dependencies form a cycle, and a NotReadyError after the
// timeout.
func (p *Plan) AwaitDependencies(ctx context.Context, dependsOn []string, await *time.Duration) error {
	for _, name := range dependsOn {
		if err := releases.ValidateName(name); err != nil {
			return fmt.Errorf("flag --depends-on: %w", err)
		}
	}
	if err := p.refuseCycle(ctx, []string{p.Release.Name}, dependsOn, map[string]bool{}); err != nil {
		return err
	}
	waiting, stop := runner.Limited(ctx, ptr.Deref(await, 0))
	defer stop()
	for _, name := range dependsOn {
		found, err := views.Look(ctx, p.connection, p.Release.Namespace, name, live.NoReasons)
		switch {
		case err == nil && found.Ready():
		case err == nil && await != nil:
			err = views.Await(waiting, p.connection, p.Release.Namespace, name, *await)
		case err == nil && !found.Exists():
			p.Unready = append(p.Unready, fmt.Sprintf("release %s does not exist", name))
		case err == nil:
			p.Unready = append(p.Unready, fmt.Sprintf("release %s is %s", name, found.State()))
		}
		if err != nil {
			return fmt.Errorf("release %s was not applied: it depends on release %s: %w", p.Release, name, err)
		}
	}
	return nil
}

// refuseCycle returns a RefusedError if a release depends on itself, perhaps through others. The path ends with the
// release that has the dependencies.
func (p *Plan) refuseCycle(ctx context.Context, path, dependencies []string, seen map[string]bool) error {
	for _, name := range dependencies {
		if slices.Contains(path, name) {
			return releases.Refused("a release must not depend on itself: %s; to end a dependency: clm apply NAME SOURCE... --depends-on=", strings.Join(append(path, name), " -> "))
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		release, err := p.connection.Records().Get(ctx, p.Release.Namespace, name)
		if errors.Is(err, releases.ErrNotFound) || err == nil && release.Current() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("finding out what release %s depends on: %w", name, err)
		}
		if err := p.refuseCycle(ctx, append(slices.Clone(path), name), release.Current().DependsOn, seen); err != nil {
			return err
		}
	}
	return nil
}

// FindNeededBy finds the releases in the same namespace that depend on the one to be deleted. A deletion that has begun
// goes on in any case.
func (d *Deletion) FindNeededBy(ctx context.Context) (err error) {
	if d.Release.State != releases.StateDeleting {
		d.NeededBy, err = d.connection.Records().NeededBy(ctx, d.Release)
	}
	return err
}
