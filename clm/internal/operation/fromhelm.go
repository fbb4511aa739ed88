// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// PlanHelmAdoption plans to turn a Helm release into a clm release with the same name and namespace, and with policies
// for objects without annotations. Its first revision is the installed one, with the number, time, values and objects
// that Helm has recorded; hooks count as completed. Objects with the marks of the Helm release are adopted; objects of
// other owners are refused.
//
// If such an adoption was interrupted, it is continued; if it was completed before, there is no plan. The error is a
// RefusedError if there is another release of clm with the name, or if there is nothing to adopt. The caller closes the
// plan.
func PlanHelmAdoption(ctx context.Context, c *runner.Connection, namespace, name string, policies reconciler.Policies) (*HelmRelease, *Plan, error) {
	release, err := find(ctx, c, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	helms, err := readHelm(ctx, c.Client(), namespace, name)
	if err != nil {
		return nil, nil, err
	}
	deployed, current := helms.Deployed, release.Current()
	isKnown := slices.ContainsFunc(release.Revisions, func(revision releases.Revision) bool {
		return revision.Number == deployed.Number && revision.Created.Equal(deployed.Created)
	})
	switch {
	// A recorded release with neither revisions nor dependents is from a process that died before it recorded the first
	// revision.
	case !isKnown && (current != nil || len(release.Inventory) > 0):
		return nil, nil, releases.Refused("there is a release %s of clm already, and it was not made from revision %d of the Helm release; nothing was changed. "+
			"If it was made from an earlier one, delete Helm's record: kubectl delete secrets,configmaps -l owner=helm,name=%s -n %s",
			release, deployed.Number, release.Name, release.Namespace)
	case isKnown && (current.Number > deployed.Number || release.State == releases.StateReady):
		return helms, nil, nil
	}
	plan, err := helms.adoption(ctx, c, release, policies)
	return helms, plan, err
}

// adoption plans to record the installed revision, and to apply it.
func (r *HelmRelease) adoption(ctx context.Context, c *runner.Connection, release *releases.Release, policies reconciler.Policies) (*Plan, error) {
	current := release.Current()
	plan := &Plan{connection: c, Release: release, intent: intent{Operation: Adopt, New: current == nil}, confirm: func(ctx context.Context) error {
		err := r.confirm(ctx, c.Client())
		if errors.Is(err, ErrHelmChanged) {
			return releases.Changed(release)
		}
		return err
	}}
	var err error
	if plan.Content, err = r.content(); err != nil {
		return nil, err
	}
	if err := checkManifest(release, plan.Content.Manifest, c.Client().Scheme()); err != nil {
		return nil, err
	}
	if current != nil {
		plan.Revision = *current
	} else {
		plan.Revision = r.Deployed
		plan.Revision.Policies, plan.Revision.Objects, plan.Revision.Inputs = policies, len(plan.Content.Manifest), unordered
		if plan.Revision.Inputs, err = inputs(plan.Content, plan.Revision); err != nil {
			return nil, err
		}
	}
	if err := r.choose(ctx, plan); err != nil {
		return nil, err
	}
	if err = plan.Compare(ctx, true); err == nil {
		err = confirmNew(ctx, c.Records(), plan)
	}
	if err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// content returns the content of the installed revision, with Helm's annotations converted.
func (r *HelmRelease) content() (releases.Content, error) {
	number := r.Deployed.Number
	mapper := gitops.HelmMapper{Prefix: releases.ReconcilerName + "/", Revision: number, Installed: r.Deployed.Installed, ReleaseHooks: true}
	content := releases.Content{Values: r.values, Notes: r.notes}
	for _, object := range r.objects {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return content, fmt.Errorf("revision %d of Helm release %s: %s (%s): %w", number, r, display.Text(object), object.Source, err)
		}
		for _, missing := range variants {
			content.Manifest = append(content.Manifest, annotated(object.Unstructured, missing))
		}
	}
	// Helm has applied versioned objects with the names that they were rendered with.
	content.Manifest = sources.Rules{Prefix: mapper.Prefix}.Without(content.Manifest)
	return content, nil
}

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// choose reads the objects of the revision. Objects with the marks of the Helm release and of no other owner are
// adopted, hooks count as completed, and all others are applied as usual.
func (r *HelmRelease) choose(ctx context.Context, plan *Plan) error {
	clnt := plan.connection.Client()
	var placed []display.Object
	for _, object := range plan.Content.Manifest {
		if !IsRegular(object) {
			continue
		}
		namespace, err := display.Namespace(clnt.RESTMapper(), object, r.Namespace)
		if err != nil {
			return err
		}
		each := display.ObjectOf(object)
		each.Namespace = namespace
		if gitops.HasHelmHook(object.GetAnnotations()) {
			noteDone(plan.Release, each)
			continue
		}
		placed = append(placed, each)
	}
	found := make([]*metav1.PartialObjectMetadata, len(placed))
	err := concurrent.Each(readsAtOnce, placed, func(i int, object display.Object) error {
		found[i] = &metav1.PartialObjectMetadata{}
		found[i].SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := clnt.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, found[i])
		if err != nil && !apierrors.IsNotFound(err) && !cluster.IsNoMatch(err) {
			return fmt.Errorf("reading %s: %w", object, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, object := range placed {
		if r.owns(found[i]) {
			plan.TakeOver(object)
			r.Programs = append(r.Programs, programsOf(found[i])...)
		}
	}
	slices.Sort(r.Programs)
	r.Programs = slices.DeleteFunc(slices.Compact(r.Programs), runner.Reclaims)
	return nil
}

// The annotations by which Helm recognizes the objects of a release.
const (
	helmNameKey      = "meta.helm.sh/release-name"
	helmNamespaceKey = "meta.helm.sh/release-namespace"
)

// owns reports whether an object has the marks of the release and of no other owner.
func (r *HelmRelease) owns(object metav1.Object) bool {
	values := object.GetAnnotations()
	if values[helmNameKey] != r.Name || values[helmNamespaceKey] != r.Namespace || metav1.GetControllerOfNoCopy(object) != nil {
		return false
	}
	for _, marks := range []map[string]string{object.GetLabels(), values} {
		for key := range marks {
			if strings.HasSuffix(key, "/"+types.LabelKeySuffixOwnerId) || strings.HasSuffix(key, "/"+types.AnnotationKeySuffixOwnerId) {
				return false
			}
		}
	}
	return true
}

// programsOf returns the field managers that have set the marks of an object: helm, or another program that contains
// Helm's packages, such as a controller.
func programsOf(object metav1.Object) []string {
	var programs []string
	for _, entry := range object.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+helmNameKey+`"`) {
			programs = append(programs, entry.Manager)
		}
	}
	return programs
}

// noteDone notes in the inventory of a release that an object has completed, whatever its manifest: Helm has already
// run it.
func noteDone(release *releases.Release, object types.ObjectKey) {
	at := slices.IndexFunc(release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(object) })
	if at < 0 {
		item := &reconciler.InventoryItem{Phase: reconciler.PhaseCompleted}
		item.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		item.Namespace, item.Name = object.GetNamespace(), object.GetName()
		at, release.Inventory = len(release.Inventory), append(release.Inventory, item)
	}
	if item := release.Inventory[at]; item.Phase == reconciler.PhaseCompleted {
		item.Digest = display.DigestTakenOver
	}
}

const (
	// helmKey is the key of Helm's record of a revision in the data of a Secret or ConfigMap, and helmType the type of
	// the Secret.
	helmKey                     = "release"
	helmType  corev1.SecretType = "helm.sh/release.v1"
	inSecrets                   = "Secret"

	// maxHelmRecord bounds the size of a record after decompression, in bytes. Since a compressed one has at most 1
	// MiB, only a malicious one is larger.
	maxHelmRecord = 32 << 20
	// maxHelmValues is the maximum number of values in the JSON of a record and in the YAML of its manifests: one for
	// each 32 bytes. A decoded value takes much more memory than its text.
	maxHelmValues = maxHelmRecord / 32
	// maxHelmReason is the maximum length of a text about a damaged record, in bytes: some errors contain a whole
	// value.
	maxHelmReason = 1000
)

// HelmRelease is a release as Helm has recorded it.
type HelmRelease struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Deployed is the installed revision. Its creation time is when Helm began to install it, in whole seconds.
	Deployed releases.Revision
	// Programs are the field managers other than Helm's that have installed objects of the release with Helm's
	// packages, such as controllers. Undeclared fields that these have set stay. Empty until the adoption is planned.
	Programs []string

	// records of the revisions, oldest first; there is at least one.
	records []helmRecord
	// values are the user's values of the installed revision; never nil.
	values map[string]any
	// notes of the installed revision.
	notes string
	// objects in the manifest and the hooks of the installed revision, sorted by the files of the chart.
	objects []helm.Object
}

// helmRecord is an object with the record of a revision, and the information in its labels.
type helmRecord struct {
	kind, name string
	uid        apitypes.UID
	version    string
	number     int64
	status     string
}

func (r helmRecord) String() string { return r.kind + " " + r.name }

// String returns namespace and name.
func (r *HelmRelease) String() string { return r.Namespace + "/" + r.Name }

// Records names the first and the last object with a record.
func (r *HelmRelease) Records() string {
	text := r.records[0].String()
	if len(r.records) > 1 {
		text += " to " + r.last().String()
	}
	return text
}

func (r *HelmRelease) last() helmRecord { return r.records[len(r.records)-1] }

// readHelm reads a release and its installed revision. The error is a RefusedError if there is no such release, if an
// operation of Helm has not ended, or if no revision is installed.
func readHelm(ctx context.Context, clnt client.Reader, namespace, name string) (*HelmRelease, error) {
	release := &HelmRelease{Namespace: namespace, Name: name}
	var err error
	if release.records, err = listHelm(ctx, clnt, namespace, name); err != nil {
		return nil, fmt.Errorf("reading Helm's records of release %s: %w", release, err)
	}
	if len(release.records) == 0 {
		return nil, releases.Refused("release %s of Helm: not found; Helm's Secrets and ConfigMaps were looked for in namespace %s, and its SQL driver is not supported",
			release, namespace)
	}
	record, err := release.installed()
	if err != nil {
		return nil, err
	}
	data, err := readHelmData(ctx, clnt, namespace, record)
	if err == nil {
		err = release.decode(record.number, data)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Helm's record in %s %s/%s: revision %d: %s", record.kind, namespace, record.name, record.number, texts.Truncate(err.Error(), maxHelmReason))
	}
	return release, nil
}

// listHelm returns the objects with the records of a release: Secrets or, if there are none, ConfigMaps.
func listHelm(ctx context.Context, clnt client.Reader, namespace, name string) ([]helmRecord, error) {
	var found []helmRecord
	for _, kind := range []string{inSecrets, "ConfigMap"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := clnt.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm", "name": name}); err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			number, err := strconv.ParseInt(object.Labels["version"], 10, 64)
			if err != nil || number < 1 {
				return nil, fmt.Errorf("%s %s has the label version %.64q; must be the number of a revision", kind, object.Name, object.Labels["version"])
			}
			found = append(found, helmRecord{
				kind: kind, name: object.Name, uid: object.UID, version: object.ResourceVersion, number: number, status: object.Labels["status"],
			})
		}
		if len(found) > 0 {
			break
		}
	}
	slices.SortFunc(found, func(a, b helmRecord) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(found); i++ {
		if found[i].number == found[i-1].number {
			return nil, fmt.Errorf("both %s and %s have revision %d", found[i-1], found[i], found[i].number)
		}
	}
	return found, nil
}

// installed returns the record of the installed revision.
func (r *HelmRelease) installed() (helmRecord, error) {
	last := r.last()
	const ifEnded = "If it is not running any more"
	switch last.status {
	case "pending-install":
		return last, releases.Refused("an installation of Helm release %s is running, or was interrupted (%s is %s). %s: helm uninstall %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "uninstalling":
		return last, releases.Refused("Helm release %s is being uninstalled, or that was interrupted (%s is %s). %s: helm uninstall %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "pending-upgrade", "pending-rollback":
		return last, releases.Refused("an operation of Helm on release %s is running, or was interrupted (%s is %s). %s: helm rollback %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "uninstalled":
		return last, releases.Refused("Helm release %s was uninstalled, and only its history is left, so there is nothing to adopt", r)
	}
	for _, record := range slices.Backward(r.records) {
		if record.status == "deployed" {
			return record, nil
		}
	}
	return last, releases.Refused("Helm release %s has no revision with status deployed, and the newest one is %s; make one first: helm upgrade, or helm rollback", r, last.status)
}

// readHelmData returns the content of a record as it is stored.
func readHelmData(ctx context.Context, clnt client.Reader, namespace string, record helmRecord) ([]byte, error) {
	key := client.ObjectKey{Namespace: namespace, Name: record.name}
	if record.kind != inSecrets {
		configMap := &corev1.ConfigMap{}
		err := clnt.Get(ctx, key, configMap)
		return []byte(configMap.Data[helmKey]), err
	}
	secret := &corev1.Secret{}
	err := clnt.Get(ctx, key, secret)
	if err == nil && secret.Type != helmType {
		err = fmt.Errorf("its type is %.64q; supported is %q, the type of Helm 3 and 4", secret.Type, helmType)
	}
	return secret.Data[helmKey], err
}

// helmContent is a revision as Helm records it: JSON, compressed by gzip, and encoded by base64. Helm 3 and 4 use the
// same names. Helm's own packages for decoding it would link drivers of SQL databases.
type helmContent struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int64  `json:"version"`
	Info      struct {
		// FirstDeployed and LastDeployed are empty, or missing, if they are not known.
		FirstDeployed string `json:"first_deployed"`
		LastDeployed  string `json:"last_deployed"`
		Description   string `json:"description"`
		Notes         string `json:"notes"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Name       string `json:"name"`
			Version    string `json:"version"`
			AppVersion string `json:"appVersion"`
		} `json:"metadata"`
	} `json:"chart"`
	Config   map[string]any `json:"config"`
	Manifest string         `json:"manifest"`
	Hooks    []struct {
		Path     string `json:"path"`
		Manifest string `json:"manifest"`
	} `json:"hooks"`
}

// decode sets the deployed revision.
func (r *HelmRelease) decode(number int64, data []byte) error {
	decoded := &helmContent{}
	if err := decodeHelm(data, decoded); err != nil {
		return err
	}
	// Flux can record a release in a namespace other than that of its objects, and backups may have been restored
	// elsewhere.
	if decoded.Name != r.Name || decoded.Version != number || decoded.Namespace != "" && decoded.Namespace != r.Namespace {
		return fmt.Errorf("it has revision %d of release %.64q in namespace %.64q", decoded.Version, decoded.Name, decoded.Namespace)
	}
	hooks, texts := make([]helm.RecordedHook, len(decoded.Hooks)), [][]byte{[]byte(decoded.Manifest)}
	for i, hook := range decoded.Hooks {
		hooks[i] = helm.RecordedHook{Path: hook.Path, Manifest: hook.Manifest}
		texts = append(texts, []byte(hook.Manifest))
	}
	if err := manifest.CheckYAML(maxHelmValues, texts...); err != nil {
		return fmt.Errorf("decoding its manifests: %w", err)
	}
	var err error
	if r.objects, err = helm.ParseRecorded(decoded.Manifest, hooks); err != nil {
		return err
	}
	r.notes = strings.TrimSpace(decoded.Info.Notes)
	if r.values = decoded.Config; r.values == nil {
		r.values = map[string]any{}
	}
	var created time.Time
	for _, text := range []string{decoded.Info.LastDeployed, decoded.Info.FirstDeployed} {
		if text == "" || !created.IsZero() {
			continue
		}
		if created, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("decoding a time: %w", err)
		}
	}
	chart := decoded.Chart.Metadata
	r.Deployed = releases.Revision{
		Number: number, Created: created.UTC().Truncate(time.Second), Description: "Helm: " + decoded.Info.Description, Installed: number > 1,
		Sources: []releases.Source{{Reference: chart.Name, Kind: sources.Chart, Name: chart.Name, Version: chart.Version, AppVersion: chart.AppVersion}},
	}
	return nil
}

// decodeHelm decodes the data of a record.
func decodeHelm(data []byte, into any) error {
	if len(data) == 0 {
		return fmt.Errorf("it has no data with key %q", helmKey)
	}
	raw, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return fmt.Errorf("decoding base64: %w", err)
	}
	// Early versions of Helm have not compressed it.
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b, 0x08}) {
		reader, err := gzip.NewReader(bytes.NewReader(raw))
		if err == nil {
			raw, err = io.ReadAll(io.LimitReader(reader, maxHelmRecord+1))
		}
		if err != nil {
			return fmt.Errorf("decompressing: %w", err)
		}
		if len(raw) > maxHelmRecord {
			return fmt.Errorf("it has more than %d bytes", maxHelmRecord)
		}
	}
	err = manifest.CheckJSON(maxHelmValues, raw)
	if err == nil {
		err = utiljson.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("decoding JSON: %w", err)
	}
	return nil
}

// ErrHelmChanged is returned if Helm has changed a release since it was read.
var ErrHelmChanged = errors.New("was changed with Helm")

// confirm returns ErrHelmChanged if Helm has changed the release since it was read. It ignores records that were
// deleted since.
func (r *HelmRelease) confirm(ctx context.Context, clnt client.Reader) error {
	found, err := listHelm(ctx, clnt, r.Namespace, r.Name)
	if err != nil {
		return fmt.Errorf("reading Helm's records of release %s: %w", r, err)
	}
	for _, each := range found {
		if !slices.Contains(r.records, each) {
			return fmt.Errorf("release %s %w in the meantime: %s", r, ErrHelmChanged, each)
		}
	}
	return nil
}

// Retire deletes the records that were found, that of the installed revision last, so that Helm no longer has the
// release. The error is ErrHelmChanged if Helm has changed the release since. In that case nothing was deleted, unless
// Helm changes the release at the same time. If Retire fails, the release can be read and retired again.
func (r *HelmRelease) Retire(ctx context.Context, clnt client.Client) error {
	if err := r.confirm(ctx, clnt); err != nil {
		return err
	}
	at := slices.IndexFunc(r.records, func(record helmRecord) bool { return record.number == r.Deployed.Number })
	records := append(slices.Delete(slices.Clone(r.records), at, at+1), r.records[at])
	for _, record := range records {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(record.kind))
		object.SetNamespace(r.Namespace)
		object.SetName(record.name)
		err := clnt.Delete(ctx, object, client.Preconditions{UID: &record.uid, ResourceVersion: &record.version})
		if apierrors.IsConflict(err) {
			return fmt.Errorf("release %s %w in the meantime: %s", r, ErrHelmChanged, record)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Helm's record in %s %s/%s: %w", record.kind, r.Namespace, record.name, err)
		}
	}
	return nil
}
