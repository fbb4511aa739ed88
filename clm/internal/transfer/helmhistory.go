// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/clm/internal/manifest"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/clm/internal/versions"
	"github.com/component-operator/runtime/internal/helmhooks"
	"github.com/component-operator/runtime/internal/parallel"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// again is the description of a revision that repeats the installed one, because that is not the newest one.
func again(found *helmreleases.Release) string {
	return fmt.Sprintf("adopted from Helm, whose revision %d had not succeeded", found.Last().Number)
}

// historyOf returns the revisions of a Helm release as those of clm. The last one is the one that is installed.
func historyOf(found *helmreleases.Release, deployed helmreleases.Revision, policies reconciler.Policies) ([]apply.Past, error) {
	// Helm has forgotten earlier revisions, of which one was installed, or the one that it keeps would not have a number above 1.
	installed := found.Revisions[0].Number > 1
	var history []apply.Past
	add := func(revision helmreleases.Revision, past releases.Revision) error {
		past.Installed, past.Policies = installed, policies
		past.Sources = []releases.Source{{
			Reference: revision.Chart.Name, Kind: string(sources.Chart),
			Name: revision.Chart.Name, Version: revision.Chart.Version, AppVersion: revision.Chart.AppVersion,
		}}
		content, err := contentOf(revision, past)
		if err != nil {
			return fmt.Errorf("revision %d of Helm release %s, in %s: %w", revision.Number, found, revision.Record(), err)
		}
		history = append(history, apply.Past{Revision: past, Content: content})
		return nil
	}
	for _, revision := range found.Revisions {
		past := releases.Revision{
			Number: revision.Number, Created: revision.Created, Description: "Helm: " + revision.Description, State: releases.RevisionFailed,
		}
		if revision.Status.Installed() {
			past.State = releases.RevisionSuperseded
		}
		if err := add(revision, past); err != nil {
			return nil, err
		}
		installed = installed || revision.Status.Installed()
	}
	if last := found.Last(); last.Number != deployed.Number {
		return history, add(deployed, releases.Revision{Number: last.Number + 1, Description: again(found)})
	}
	return history, nil
}

// contentOf returns what a revision of Helm consists of, with the annotations that Helm's ones become.
func contentOf(revision helmreleases.Revision, past releases.Revision) (releases.Content, error) {
	mapper := helmhooks.Mapper{Prefix: releases.ReconcilerName + "/", Revision: past.Number, Installed: past.Installed && past.Number > 1, ReleaseHooks: true}
	content := releases.Content{Values: revision.Values, Notes: revision.Notes}
	for _, object := range revision.Objects {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return content, fmt.Errorf("%s (%s): %w", dependents.Text(object), object.Source, err)
		}
		for _, missing := range variants {
			each := object.DeepCopy()
			if len(missing) > 0 {
				annotations := each.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				maps.Copy(annotations, missing)
				each.SetAnnotations(annotations)
			}
			content.Manifest = append(content.Manifest, each)
		}
	}
	// Helm has applied versioned objects with the names that they were rendered with.
	content.Manifest = versions.Rules{Prefix: mapper.Prefix}.Without(content.Manifest)
	return content, nil
}

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// divide returns the objects of a revision that have the marks of the Helm release and of no other owner, and those that are hooks, which Helm has run. All
// others are applied as always.
func divide(ctx context.Context, clnt cluster.Client, found *helmreleases.Release, objects []*unstructured.Unstructured) (marked, hooks []types.ObjectKey, err error) {
	var placed []dependents.Object
	for _, object := range objects {
		if !manifest.IsRegular(object) {
			continue
		}
		namespace, err := dependents.Namespace(clnt.RESTMapper(), object, found.Namespace)
		if err != nil {
			return nil, nil, err
		}
		each := dependents.ObjectOf(object)
		each.Namespace = namespace
		if helmhooks.IsHook(object.GetAnnotations()) {
			hooks = append(hooks, each)
			continue
		}
		placed = append(placed, each)
	}
	adoptable := make([]bool, len(placed))
	err = parallel.Each(readsAtOnce, placed, func(i int, object dependents.Object) (err error) {
		adoptable[i], err = isMarked(ctx, clnt, found, object)
		return err
	})
	for i, object := range placed {
		if adoptable[i] {
			marked = append(marked, object)
		}
	}
	return marked, hooks, err
}

// isMarked reports whether an object exists with the marks of a Helm release and with those of no other owner.
func isMarked(ctx context.Context, clnt cluster.Client, found *helmreleases.Release, object dependents.Object) (bool, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, metadata)
	switch {
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s: %w", object, err)
	}
	if !found.Owns(metadata) || metav1.GetControllerOfNoCopy(metadata) != nil {
		return false, nil
	}
	for _, marks := range []map[string]string{metadata.Labels, metadata.Annotations} {
		for key := range marks {
			if strings.HasSuffix(key, "/"+types.LabelKeySuffixOwnerId) || strings.HasSuffix(key, "/"+types.AnnotationKeySuffixOwnerId) {
				return false, nil
			}
		}
	}
	return true, nil
}
