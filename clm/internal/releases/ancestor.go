// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// The ancestor of clm keeps a release in a ConfigMap.
const (
	// ancestorPrefix is the prefix of the ConfigMap's name.
	ancestorPrefix = "com.sap.cs.clm.release."
	// ancestorFinalizer is the finalizer of the ConfigMap.
	ancestorFinalizer = ReconcilerName + "/finalizer"
	// ancestorVersion is the only version of the format that ever existed.
	ancestorVersion = "1"
	// maxAncestor is the maximum number of YAML values in an inventory: one for each 4 bytes of the largest ConfigMap.
	maxAncestor = 1 << 18
)

// ancestors selects the ancestor's records among the ConfigMaps.
var ancestors client.ListOption = client.HasLabels{"release." + ReconcilerName}

// getAncestor reads a release that only the ancestor has recorded.
func (s *Store) getAncestor(ctx context.Context, namespace, name string) (*Release, error) {
	configMap := &corev1.ConfigMap{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ancestorPrefix + name}, configMap)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("release %s/%s: %w", namespace, name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, ancestorPrefix+name, err)
	}
	return decodeAncestor(configMap)
}

// appendAncestors adds the releases that only the ancestor has recorded.
func (s *Store) appendAncestors(ctx context.Context, found []*Release, namespace string) ([]*Release, error) {
	known := map[string]bool{}
	for _, release := range found {
		known[release.String()] = true
	}
	err := clients.EachListed(ctx, s.client, &corev1.ConfigMapList{}, pageSize, func(configMap *corev1.ConfigMap) {
		name, named := strings.CutPrefix(configMap.Name, ancestorPrefix)
		if !named || known[configMap.Namespace+"/"+name] {
			return
		}
		release, err := decodeAncestor(configMap)
		if err != nil {
			release = &Release{Namespace: configMap.Namespace, Name: name, Ancestor: true, Problem: err.Error()}
		}
		release.Inventory, release.stored.incomplete = nil, true
		found = append(found, release)
	}, client.InNamespace(namespace), ancestors)
	return found, err
}

// ancestorStates translates the states of the ancestor.
var ancestorStates = map[string]State{
	"Ready": StateReady, "Error": StateFailed, "Pending": StateApplying, "Processing": StateApplying, "": StateApplying,
}

// decodeAncestor returns what the ancestor has recorded, as far as it can be taken over.
func decodeAncestor(configMap *corev1.ConfigMap) (*Release, error) {
	refuse := func(what, help string) (*Release, error) {
		return nil, fmt.Errorf("the release in ConfigMap %s/%s was created by an earlier version of clm, and cannot be migrated: %s; %s",
			configMap.Namespace, configMap.Name, what, help)
	}
	const repair = "repair it with the version of clm that created it"
	state, known := ancestorStates[configMap.Data["state"]]
	switch {
	case configMap.Data["version"] != ancestorVersion:
		return refuse(fmt.Sprintf("version is %.64q; must be %q", configMap.Data["version"], ancestorVersion), repair)
	case configMap.DeletionTimestamp != nil || strings.HasPrefix(configMap.Data["state"], "Delet"):
		return refuse("it is being deleted", "finish the deletion with the version of clm that started it (clm delete), and try again")
	case !known:
		return refuse(fmt.Sprintf("state is %.64q", configMap.Data["state"]), repair)
	}
	var inventory []*reconciler.InventoryItem
	text := []byte(configMap.Data["inventory"])
	err := manifest.CheckYAML(maxAncestor, text)
	if err == nil {
		err = yaml.Unmarshal(text, &inventory)
	}
	if err != nil {
		return refuse("decoding inventory: "+texts.Truncate(err.Error(), maxDamage), repair)
	}
	if slices.ContainsFunc(inventory, func(item *reconciler.InventoryItem) bool { return item == nil || item.Kind == "" || item.Name == "" }) {
		return refuse("inventory has an item without kind or name", repair)
	}
	checksum, err := manifest.Digest(configMap.Data)
	if err != nil {
		return nil, err
	}
	updated := ancestorTime(configMap, "updateTimestamp")
	release := &Release{
		Namespace: configMap.Namespace, Name: strings.TrimPrefix(configMap.Name, ancestorPrefix), State: state, Inventory: inventory, Ancestor: true,
		Created: ancestorTime(configMap, "creationTimestamp"), Updated: updated, Since: updated,
		stored: stored{ancestor: &takenOver{UID: configMap.UID, Checksum: checksum}},
	}
	if number, err := strconv.ParseInt(configMap.Data["revision"], 10, 64); err != nil {
		return refuse("decoding revision: "+err.Error(), repair)
	} else if number > 0 {
		release.Revisions = []Revision{{
			Number: number, State: RevisionState(state), Created: release.Updated, Description: "applied by an earlier version of clm", Objects: len(inventory), Installed: number > 1,
		}}
	}
	return release, nil
}

// ancestorTime returns a time that the ancestor has recorded. It returns the creation time of the ConfigMap if that
// cannot be parsed, because the time is only shown.
func ancestorTime(configMap *corev1.ConfigMap, key string) time.Time {
	parsed, err := time.Parse(time.RFC3339, configMap.Data[key])
	if err != nil {
		return configMap.CreationTimestamp.UTC()
	}
	return parsed.UTC()
}

// removeAncestor removes the record that was taken over, if it has not changed since.
func (s *Store) removeAncestor(ctx context.Context, namespace, name string, seen *takenOver) error {
	configMap := &corev1.ConfigMap{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ancestorPrefix + name}, configMap)
	if err == nil {
		err = s.removeUnchanged(ctx, configMap, seen)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing ConfigMap %s/%s, the record of an earlier version of clm: %w", namespace, ancestorPrefix+name, err)
	}
	return nil
}

func (s *Store) removeUnchanged(ctx context.Context, configMap *corev1.ConfigMap, seen *takenOver) error {
	checksum, err := manifest.Digest(configMap.Data)
	if err != nil {
		return err
	}
	if configMap.UID != seen.UID || checksum != seen.Checksum {
		return errors.New("it has changed since the release was migrated; make sure that the earlier version of clm is no longer used for this release, " +
			"delete the ConfigMap, with its finalizer " + ancestorFinalizer + ", and try again")
	}
	finalizers := slices.DeleteFunc(slices.Clone(configMap.Finalizers), func(name string) bool { return name == ancestorFinalizer })
	patch, err := apiserver.MergePatch(configMap.UID, configMap.ResourceVersion, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	if err != nil {
		return err
	}
	released := metadataNamed("ConfigMap", configMap.Namespace, configMap.Name)
	if err := s.client.Patch(ctx, released, patch, client.FieldOwner(ReconcilerName)); err != nil {
		return err
	}
	return s.client.Delete(ctx, configMap, client.Preconditions{UID: &released.UID, ResourceVersion: &released.ResourceVersion})
}
