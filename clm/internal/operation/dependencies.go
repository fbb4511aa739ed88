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

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/views"
)

// AwaitDependencies waits until the releases are ready on which the release depends; see Request.Await. The error is a
// RefusedError if the dependencies form a cycle, and a NotReadyError after the timeout.
func (p *Plan) AwaitDependencies(ctx context.Context, dependsOn []string, await *time.Duration) error {
	if err := p.refuseCycle(ctx, []string{p.Release.Name}, dependsOn); err != nil {
		return err
	}
	for _, name := range dependsOn {
		found, err := views.Look(ctx, p.connection, p.Release.Namespace, name, live.NoReasons)
		switch {
		case err != nil:
			return fmt.Errorf("release %s/%s, on which it depends: %w", p.Release.Namespace, name, err)
		case found.Ready():
		case await != nil:
			if err := views.Wait(ctx, p.connection, p.Release.Namespace, name, views.GoalReady, *await); err != nil {
				return fmt.Errorf("release %s was not applied: it depends on release %s: %w", p.Release, name, err)
			}
		case !found.Exists():
			p.Unready = append(p.Unready, fmt.Sprintf("release %s does not exist", name))
		default:
			p.Unready = append(p.Unready, fmt.Sprintf("release %s is %s", name, found.State()))
		}
	}
	return nil
}

// refuseCycle returns a RefusedError if a release depends on itself, perhaps through others. The path ends with the
// release that has the dependencies.
func (p *Plan) refuseCycle(ctx context.Context, path, dependencies []string) error {
	for _, name := range dependencies {
		if err := releases.ValidateName(name); err != nil {
			return fmt.Errorf("flag --depends-on: %w", err)
		}
		if slices.Contains(path, name) {
			return releases.Refused("a release must not depend on itself: %s", strings.Join(append(path, name), " -> "))
		}
		release, err := p.connection.Records().Get(ctx, p.Release.Namespace, name)
		if errors.Is(err, releases.ErrNotFound) || err == nil && release.Current() == nil {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.refuseCycle(ctx, append(slices.Clone(path), name), release.Current().DependsOn); err != nil {
			return err
		}
	}
	return nil
}

// FindNeededBy finds the releases in the same namespace that depend on the one to be deleted.
func (d *Deletion) FindNeededBy(ctx context.Context) error {
	all, err := d.connection.Records().List(ctx, d.Release.Namespace)
	for _, other := range all {
		if current := other.Current(); current != nil && slices.Contains(current.DependsOn, d.Release.Name) {
			d.NeededBy = append(d.NeededBy, other.Name)
		}
	}
	return err
}
