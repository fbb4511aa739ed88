// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// again is the description of a revision that repeats the installed one, because that is not the newest one.
func again(found *helmreleases.Release) string {
	return fmt.Sprintf("adopted from Helm, whose revision %d had not succeeded", found.Last().Number)
}

// historyOf returns the revisions of a Helm release that can be read as those of clm. The last one is the one that is
// installed.
func historyOf(found *helmreleases.Release, deployed helmreleases.Revision, policies reconciler.Policies) []Past {
	unreadable := found.Unreadable
	// Helm has forgotten earlier revisions, of which one was installed, or the one that it keeps would not have a
	// number above 1.
	installed := found.Revisions[0].Number > 1 && (len(unreadable) == 0 || unreadable[0].Number > 1)
	var history []Past
	add := func(revision helmreleases.Revision, past releases.Revision) {
		past.Installed, past.Policies = installed, policies
		past.Sources = []releases.Source{{
			Reference: revision.Chart.Name, Kind: string(sources.Chart),
			Name: revision.Chart.Name, Version: revision.Chart.Version, AppVersion: revision.Chart.AppVersion,
		}}
		history = append(history, Past{Revision: past, Content: func() (releases.Content, error) {
			content, err := revision.Content()
			if err != nil {
				return releases.Content{}, err
			}
			mapped, err := contentOf(content, past)
			if err != nil {
				return releases.Content{}, fmt.Errorf("revision %d of Helm release %s, in %s: %w", revision.Number, found, revision.Record(), err)
			}
			return mapped, nil
		}})
	}
	for _, revision := range found.Revisions {
		for len(unreadable) > 0 && unreadable[0].Number < revision.Number {
			installed, unreadable = installed || unreadable[0].Status.Installed(), unreadable[1:]
		}
		past := releases.Revision{
			Number: revision.Number, Created: revision.Created, Description: "Helm: " + revision.Description, State: releases.RevisionFailed,
		}
		if revision.Status.Installed() {
			past.State = releases.RevisionSuperseded
		}
		add(revision, past)
		installed = installed || revision.Status.Installed()
	}
	if last := found.Last(); last.Number != deployed.Number {
		add(deployed, releases.Revision{Number: last.Number + 1, Description: again(found)})
	}
	return history
}

// contentOf returns what a revision of Helm consists of, with the annotations that Helm's ones become.
func contentOf(recorded helmreleases.Content, past releases.Revision) (releases.Content, error) {
	mapper := gitops.HelmMapper{Prefix: releases.ReconcilerName + "/", Revision: past.Number, Installed: past.Installed && past.Number > 1, ReleaseHooks: true}
	content := releases.Content{Values: recorded.Values, Notes: recorded.Notes}
	for _, object := range recorded.Objects {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return content, fmt.Errorf("%s (%s): %w", display.Text(object), object.Source, err)
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
	content.Manifest = sources.Rules{Prefix: mapper.Prefix}.Without(content.Manifest)
	return content, nil
}

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// divided are the objects of a revision of Helm. All others are applied as always.
type divided struct {
	// marked have the marks of the Helm release and of no other owner.
	marked []types.ObjectKey
	// hooks were run by Helm.
	hooks []types.ObjectKey
	// programs are the field managers that have set Helm's marks of the marked objects; sorted.
	programs []string
}

// divide reads the objects of a revision.
func divide(ctx context.Context, clnt cluster.Client, found *helmreleases.Release, objects []*unstructured.Unstructured) (divided, error) {
	result := divided{}
	var placed []display.Object
	for _, object := range objects {
		if !IsRegular(object) {
			continue
		}
		namespace, err := display.Namespace(clnt.RESTMapper(), object, found.Namespace)
		if err != nil {
			return divided{}, err
		}
		each := display.ObjectOf(object)
		each.Namespace = namespace
		if gitops.HasHelmHook(object.GetAnnotations()) {
			result.hooks = append(result.hooks, each)
			continue
		}
		placed = append(placed, each)
	}
	adoptable := make([]*metav1.PartialObjectMetadata, len(placed))
	err := concurrent.Each(readsAtOnce, placed, func(i int, object display.Object) (err error) {
		adoptable[i], err = ifMarked(ctx, clnt, found, object)
		return err
	})
	for i, object := range placed {
		if adoptable[i] != nil {
			result.marked = append(result.marked, object)
			result.programs = append(result.programs, helmreleases.Programs(adoptable[i])...)
		}
	}
	slices.Sort(result.programs)
	result.programs = slices.Compact(result.programs)
	return result, err
}

// ifMarked returns the metadata of an object if it exists with the marks of a Helm release and with those of no other
// owner; otherwise nil.
func ifMarked(ctx context.Context, clnt cluster.Client, found *helmreleases.Release, object display.Object) (*metav1.PartialObjectMetadata, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, metadata)
	switch {
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		return nil, nil //nolint:nilnil // no such object is no error
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", object, err)
	}
	if !found.Owns(metadata) || metav1.GetControllerOfNoCopy(metadata) != nil {
		return nil, nil //nolint:nilnil // no such object is no error
	}
	for _, marks := range []map[string]string{metadata.Labels, metadata.Annotations} {
		for key := range marks {
			if strings.HasSuffix(key, "/"+types.LabelKeySuffixOwnerId) || strings.HasSuffix(key, "/"+types.AnnotationKeySuffixOwnerId) {
				return nil, nil //nolint:nilnil // no such object is no error
			}
		}
	}
	return metadata, nil
}
