// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/cluster"
)

// savedPlan is a plan in a file, with everything needed to carry it out.
type savedPlan struct {
	intent

	Version   int                          `json:"version"`
	Cluster   apitypes.UID                 `json:"cluster,omitempty"` // see cluster.UIDOf
	Record    apitypes.UID                 `json:"record,omitempty"`  // that of the release, if it had one
	Namespace string                       `json:"namespace"`
	Name      string                       `json:"name"`
	Base      int64                        `json:"base"` // the current revision when the plan was made; 0 if there was none
	Values    map[string]any               `json:"values"`
	Manifest  []*unstructured.Unstructured `json:"manifest"`
	Notes     string                       `json:"notes,omitempty"`
}

// savedVersion is the version of the file format.
const savedVersion = 1

// Save writes the plan into a file that only its owner can read, because it holds Secrets.
func (p *Plan) Save(ctx context.Context, path string) error {
	uid, err := cluster.UIDOf(ctx, p.connection.Client())
	if err != nil {
		return err
	}
	saved := savedPlan{
		intent: p.intent, Version: savedVersion, Cluster: uid, Record: p.Release.UID(), Namespace: p.Release.Namespace, Name: p.Release.Name,
		Base: baseOf(p.Release), Values: p.Content.Values, Manifest: p.Content.Manifest, Notes: p.Content.Notes,
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("encoding the plan: %w", err)
	}
	return replaceFile(path, raw)
}

// replaceFile atomically replaces a file by one that only its owner can read. It replaces the target of a symbolic
// link, and writes into a device or pipe.
func replaceFile(path string, content []byte) error {
	found, err := os.Stat(path)
	if isDevice := strings.HasPrefix(filepath.Clean(path), "/dev/"); err == nil && (isDevice || !found.Mode().IsRegular()) {
		return os.WriteFile(path, content, 0o600)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".clm-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// decodePlan decodes a saved plan. The file is named in errors.
func decodePlan(raw []byte, file string) (savedPlan, error) {
	var saved savedPlan
	if err := utiljson.Unmarshal(raw, &saved); err != nil || saved.Exact == nil || slices.Contains(saved.Manifest, nil) {
		return saved, fmt.Errorf("reading the plan: %s is not a saved plan", file)
	}
	if saved.Version != savedVersion {
		return saved, fmt.Errorf("reading the plan: %s has version %d; must be %d", file, saved.Version, savedVersion)
	}
	return saved, nil
}

// Load returns a plan that was saved for a release, from the content of a file, which is named in errors. The error is a RefusedError if it was made for another release or
// cluster, or if the release has changed since. Whether objects have changed is checked when the plan is applied.
func Load(ctx context.Context, c *runner.Connection, raw []byte, file, namespace, name, approved string) (*Plan, error) {
	saved, err := decodePlan(raw, file)
	if err != nil {
		return nil, err
	}
	if saved.Namespace != namespace || saved.Name != name {
		return nil, releases.Refused("the plan in %s was created for release %s/%s, not for %s/%s", file, saved.Namespace, saved.Name, namespace, name)
	}
	uid, err := cluster.UIDOf(ctx, c.Client())
	if err != nil {
		return nil, err
	}
	if saved.Cluster != "" && uid != "" && saved.Cluster != uid {
		return nil, releases.Refused("the plan in %s was created for another cluster; create a new plan with clm plan", file)
	}
	release, err := find(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	if err := saved.confirm(release, file); err != nil {
		return nil, err
	}
	content := releases.Content{Values: saved.Values, Manifest: saved.Manifest, Notes: saved.Notes}
	p := &Plan{intent: saved.intent, connection: c, Release: release, Content: content, Changes: saved.Exact.Changes}
	if p.namespaceMissing, err = isMissing(ctx, c.Client(), release); err != nil {
		return nil, err
	}
	p.objects = objectsOf(p)
	if held := p.Exact.Held; held != nil && held.Digest == approved {
		p.Approved = approved
		return p, p.Compare(ctx, true)
	}
	return p, p.observe()
}

// confirm returns a RefusedError if the release has changed since the plan was saved.
func (s savedPlan) confirm(release *releases.Release, path string) error {
	if base := baseOf(release); base != s.Base {
		return releases.Refused("the plan in %s is stale: it was created for revision %d of release %s, which is now at revision %d; create a new plan with clm plan",
			path, s.Base, release, base)
	}
	if release.UID() != s.Record {
		return releases.Refused("the plan in %s is stale: it was created for another release named %s; create a new plan with clm plan", path, release)
	}
	return nil
}

// baseOf returns the number of the current revision; 0 if there is none.
func baseOf(release *releases.Release) int64 {
	if current := release.Current(); current != nil {
		return current.Number
	}
	return 0
}
