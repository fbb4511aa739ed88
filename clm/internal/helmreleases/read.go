// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
)

const (
	ownerKey, ownerHelm = "owner", "helm"
	nameKey             = "name"
	// versionKey and statusKey are the keys of the labels with the number and the status of the revision.
	versionKey, statusKey = "version", "status"
	// recordKey is the key of the data of a Secret or ConfigMap that has the record.
	recordKey = "release"
	// recordType is the type of Secrets with records.
	recordType corev1.SecretType = "helm.sh/release.v1"

	kindSecret, kindConfigMap = "Secret", "ConfigMap"

	// pageSize is how many records are read at once, maxRecords how large those of a release may be together, in bytes.
	pageSize, maxRecords = 50, 256 << 20
)

// ErrNotFound is the error if Helm has no record of a release. The error that is returned says where was looked.
var ErrNotFound = errors.New("not found")

// Read reads a release, except for the contents of its revisions. The error is ErrNotFound if there is no record of it.
// If a record cannot be read, the error names its object, unless the record is damaged and its labels say that it is
// older than the revision that is installed.
func Read(ctx context.Context, clnt client.Reader, namespace, name string) (*Release, error) {
	found, err := list(ctx, clnt, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("reading Helm's records of release %s/%s: %w", namespace, name, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("release %s/%s of Helm: %w; Helm's Secrets and ConfigMaps were looked for in namespace %s, and its SQL driver is not supported",
			namespace, name, ErrNotFound, namespace)
	}
	release := &Release{Namespace: namespace, Name: name}
	for _, each := range found {
		revision, err := each.decode(namespace, name)
		if err == nil {
			release.Revisions = append(release.Revisions, revision)
			continue
		}
		err = fmt.Errorf("reading Helm's record in %s %s/%s: %w", each.kind, namespace, each.name, err)
		var damaged *damagedError
		number, _ := strconv.ParseInt(each.labels[versionKey], 10, 64)
		if !errors.As(err, &damaged) || number < 1 {
			return nil, err
		}
		release.Unreadable = append(release.Unreadable, Unreadable{Number: number, Status: Status(each.labels[statusKey]), Reason: err, object: each.object})
	}
	slices.SortStableFunc(release.Revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortStableFunc(release.Unreadable, func(a, b Unreadable) int { return cmp.Compare(a.Number, b.Number) })
	if err := release.check(); err != nil {
		return nil, err
	}
	return release, nil
}

// check returns an error if two records have the same revision, or if one cannot be read that may be needed.
func (r *Release) check() error {
	installed := int64(0)
	for i, revision := range r.Revisions {
		if i > 0 && r.Revisions[i-1].Number == revision.Number {
			return fmt.Errorf("reading Helm's records of release %s: both %s and %s have revision %d", r, r.Revisions[i-1].Record(), revision.Record(), revision.Number)
		}
		if revision.Status == StatusDeployed {
			installed = revision.Number
		}
	}
	if count := len(r.Unreadable); count > 0 && r.Unreadable[count-1].Number >= installed {
		return r.Unreadable[count-1].Reason
	}
	return nil
}

// damagedError says what is wrong with a record that cannot be read.
type damagedError struct{ reason error }

func (e *damagedError) Error() string { return texts.Truncate(e.reason.Error(), maxReason) }

func (e *damagedError) Unwrap() error { return e.reason }

// stored is an object that has the record of a revision.
type stored struct {
	object

	labels     map[string]string
	secretType corev1.SecretType
	data       []byte
}

// decode returns the revision without its content. The error is a damagedError if the record cannot be read.
func (s stored) decode(namespace, name string) (Revision, error) {
	if s.kind == kindSecret && s.secretType != recordType {
		return Revision{}, fmt.Errorf("its type is %.64q; supported is %q, the type of Helm 3 and 4", s.secretType, recordType)
	}
	if len(s.data) == 0 {
		return Revision{}, &damagedError{fmt.Errorf("it has no data with key %q", recordKey)}
	}
	decoded, err := decodeHeader(s.data)
	if err != nil {
		return Revision{}, &damagedError{err}
	}
	if decoded.Name != name {
		return Revision{}, fmt.Errorf("it is labelled as a record of release %q, and has one of release %.64q", name, decoded.Name)
	}
	if decoded.Namespace != "" && decoded.Namespace != namespace {
		// Flux can record a release in another namespace than that of its objects; and backups may have been restored
		// elsewhere.
		return Revision{}, fmt.Errorf("it records a release in namespace %.64s, not in %s", decoded.Namespace, namespace)
	}
	revision, err := decoded.revision()
	if err != nil {
		return Revision{}, &damagedError{err}
	}
	revision.object, revision.data = s.object, s.data
	return revision, nil
}

func objectOf(kind string, found metav1.Object) object {
	return object{kind: kind, namespace: found.GetNamespace(), name: found.GetName(), uid: found.GetUID(), version: found.GetResourceVersion()}
}

// list returns the objects that have the records of a release: Secrets or, if there are none, ConfigMaps. Their order
// is not specified.
func list(ctx context.Context, clnt client.Reader, namespace, name string) ([]stored, error) {
	where := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{ownerKey: ownerHelm, nameKey: name}}
	var found []stored
	size := 0
	add := func(kind string, object metav1.Object, secretType corev1.SecretType, data []byte) {
		size += len(data)
		found = append(found, stored{object: objectOf(kind, object), labels: object.GetLabels(), secretType: secretType, data: data})
	}
	options := func(next string) []client.ListOption {
		return append(where[:len(where):len(where)], client.Limit(pageSize), client.Continue(next))
	}
	// Each page has a list of its own: decoding into one that is not empty leaves what was in it before.
	for _, page := range []func(next string) (string, error){
		func(next string) (string, error) {
			secrets := &corev1.SecretList{}
			err := clnt.List(ctx, secrets, options(next)...)
			for _, secret := range secrets.Items {
				add(kindSecret, &secret, secret.Type, secret.Data[recordKey])
			}
			return secrets.Continue, err
		},
		func(next string) (string, error) {
			configMaps := &corev1.ConfigMapList{}
			err := clnt.List(ctx, configMaps, options(next)...)
			for _, configMap := range configMaps.Items {
				add(kindConfigMap, &configMap, "", []byte(configMap.Data[recordKey]))
			}
			return configMaps.Continue, err
		},
	} {
		next, err := page("")
		for err == nil && next != "" && size <= maxRecords {
			next, err = page(next)
		}
		switch {
		case err != nil:
			return nil, err
		case size > maxRecords:
			return nil, fmt.Errorf("they take more than %d bytes; delete those of old revisions", maxRecords)
		case len(found) > 0:
			return found, nil
		}
	}
	return nil, nil
}
