// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

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

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/types"
)

// RefusedReleaseError means that a release cannot be adopted as it is.
type RefusedReleaseError struct {
	// Reason says why, and what to do.
	Reason string
	// Missing means that Helm has no record of the release, or only its history.
	Missing bool
}

// Error returns the reason.
func (e *RefusedReleaseError) Error() string { return e.Reason }

func refused(format string, args ...any) error {
	return &RefusedReleaseError{Reason: fmt.Sprintf(format, args...)}
}

// The annotations by which Helm recognizes the objects of a release.
const (
	NameKey          = "meta.helm.sh/release-name"
	helmNamespaceKey = "meta.helm.sh/release-namespace"
)

// Owns reports whether an object has the marks of the release and of no other owner. A controller with the given UID is
// the program that manages the release.
func (r *InstalledRelease) Owns(object metav1.Object, manager apitypes.UID) bool {
	values, controller := object.GetAnnotations(), metav1.GetControllerOfNoCopy(object)
	if values[NameKey] != r.Name || values[helmNamespaceKey] != r.Namespace || controller != nil && controller.UID != manager {
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

// InstalledRelease is the installed revision of a release as Helm has recorded it.
type InstalledRelease struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Number of the revision.
	Number int64
	// Created is when Helm began to install the revision, in whole seconds.
	Created time.Time
	// Description of the revision by Helm.
	Description string
	// ChartName, ChartVersion and AppVersion are those of the chart.
	ChartName, ChartVersion, AppVersion string
	// Values are the user's values; never nil.
	Values map[string]any
	// Notes are the rendered notes of the chart.
	Notes string
	// Objects are those in the manifest and the hooks, sorted by the files of the chart.
	Objects []Object

	// records of the revisions, oldest first; there is at least one.
	records []helmRecord
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
func (r *InstalledRelease) String() string { return r.Namespace + "/" + r.Name }

// Records names the first and the last object with a record.
func (r *InstalledRelease) Records() string {
	text := r.records[0].String()
	if len(r.records) > 1 {
		text += " to " + r.last().String()
	}
	return text
}

func (r *InstalledRelease) last() helmRecord { return r.records[len(r.records)-1] }

// ReadRelease reads a release and its installed revision. The error is a RefusedReleaseError if there is no such release,
// if an operation of Helm has not ended, or if no revision is installed.
func ReadRelease(ctx context.Context, clnt client.Reader, namespace, name string) (*InstalledRelease, error) {
	release := &InstalledRelease{Namespace: namespace, Name: name}
	var err error
	if release.records, err = listHelm(ctx, clnt, namespace, name); err != nil {
		return nil, fmt.Errorf("reading Helm's records of release %s: %w", release, err)
	}
	if len(release.records) == 0 {
		const missing = "release %s of Helm: not found; Helm's Secrets and ConfigMaps were looked for in namespace %s, and its SQL driver is not supported"
		return nil, &RefusedReleaseError{Reason: fmt.Sprintf(missing, release, namespace), Missing: true}
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
func (r *InstalledRelease) installed() (helmRecord, error) {
	last := r.last()
	const ifEnded = "If it is not running any more"
	switch last.status {
	case "pending-install":
		return last, refused("an installation of Helm release %s is running, or was interrupted (%s is %s). %s: helm uninstall %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "uninstalling":
		return last, refused("Helm release %s is being uninstalled, or that was interrupted (%s is %s). %s: helm uninstall %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "pending-upgrade", "pending-rollback":
		return last, refused("an operation of Helm on release %s is running, or was interrupted (%s is %s). %s: helm rollback %s -n %s",
			r, last, last.status, ifEnded, r.Name, r.Namespace)
	case "uninstalled":
		return last, &RefusedReleaseError{Reason: fmt.Sprintf("Helm release %s was uninstalled, and only its history is left, so there is nothing to adopt", r), Missing: true}
	}
	for _, record := range slices.Backward(r.records) {
		if record.status == "deployed" {
			return record, nil
		}
	}
	return last, refused("Helm release %s has no revision with status deployed, and the newest one is %s; make one first: helm upgrade, or helm rollback", r, last.status)
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
func (r *InstalledRelease) decode(number int64, data []byte) error {
	decoded := &helmContent{}
	if err := decodeHelm(data, decoded); err != nil {
		return err
	}
	// Flux can record a release in a namespace other than that of its objects, and backups may have been restored
	// elsewhere.
	if decoded.Name != r.Name || decoded.Version != number || decoded.Namespace != "" && decoded.Namespace != r.Namespace {
		return fmt.Errorf("it has revision %d of release %.64q in namespace %.64q", decoded.Version, decoded.Name, decoded.Namespace)
	}
	hooks, manifests := make([]RecordedHook, len(decoded.Hooks)), [][]byte{[]byte(decoded.Manifest)}
	for i, hook := range decoded.Hooks {
		hooks[i] = RecordedHook{Path: hook.Path, Manifest: hook.Manifest}
		manifests = append(manifests, []byte(hook.Manifest))
	}
	if err := manifest.CheckYAML(maxHelmValues, manifests...); err != nil {
		return fmt.Errorf("decoding its manifests: %w", err)
	}
	var err error
	if r.Objects, err = ParseRecorded(decoded.Manifest, hooks); err != nil {
		return err
	}
	r.Notes = strings.TrimSpace(decoded.Info.Notes)
	if r.Values = decoded.Config; r.Values == nil {
		r.Values = map[string]any{}
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
	r.Number, r.Created, r.Description = number, created.UTC().Truncate(time.Second), decoded.Info.Description
	r.ChartName, r.ChartVersion, r.AppVersion = chart.Name, chart.Version, chart.AppVersion
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

// ErrReleaseChanged is returned if Helm has changed a release since it was read.
var ErrReleaseChanged = errors.New("was changed with Helm")

// Confirm returns ErrReleaseChanged if Helm has changed the release since it was read. It ignores records that were
// deleted since.
func (r *InstalledRelease) Confirm(ctx context.Context, clnt client.Reader) error {
	found, err := listHelm(ctx, clnt, r.Namespace, r.Name)
	if err != nil {
		return fmt.Errorf("reading Helm's records of release %s: %w", r, err)
	}
	for _, each := range found {
		if !slices.Contains(r.records, each) {
			return fmt.Errorf("release %s %w in the meantime: %s", r, ErrReleaseChanged, each)
		}
	}
	return nil
}

// Retire deletes the records that were found, that of the installed revision last, so that Helm no longer has the
// release. The error is ErrReleaseChanged if Helm has changed the release since. In that case nothing was deleted, unless
// Helm changes the release at the same time. If Retire fails, the release can be read and retired again.
func (r *InstalledRelease) Retire(ctx context.Context, clnt client.Client) error {
	if err := r.Confirm(ctx, clnt); err != nil {
		return err
	}
	at := slices.IndexFunc(r.records, func(record helmRecord) bool { return record.number == r.Number })
	records := append(slices.Delete(slices.Clone(r.records), at, at+1), r.records[at])
	for _, record := range records {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(record.kind))
		object.SetNamespace(r.Namespace)
		object.SetName(record.name)
		err := clnt.Delete(ctx, object, client.Preconditions{UID: &record.uid, ResourceVersion: &record.version})
		if apierrors.IsConflict(err) {
			return fmt.Errorf("release %s %w in the meantime: %s", r, ErrReleaseChanged, record)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Helm's record in %s %s/%s: %w", record.kind, r.Namespace, record.name, err)
		}
	}
	return nil
}
