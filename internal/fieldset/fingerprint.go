// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Fingerprint condenses which fields of the object the manager owns on the main resource, and the object's
// UID, into 16 hexadecimal digits. It changes whenever somebody else gives another value to a field that the manager
// applied, or removes such a field, or if the object is deleted and created again; it does not depend on times,
// on the order of entries, on the status, or on fields of others.
//
// It is empty if the manager owns nothing, as on servers that do not track field ownership.
func Fingerprint(object metav1.Object, manager string) (string, error) {
	var parts [][]byte
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != manager || entry.Subresource != "" {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return "", err
		}
		// Serialised anew, because the order of fields depends on how the object was decoded.
		fields, err := set.ToJSON()
		if err != nil {
			return "", fmt.Errorf("serialising fields of manager %s: %w", manager, err)
		}
		parts = append(parts, slices.Concat([]byte(entry.Operation), []byte{0}, []byte(entry.APIVersion), []byte{0}, fields))
	}
	if len(parts) == 0 {
		return "", nil
	}
	slices.SortFunc(parts, bytes.Compare)
	hash := sha256.New()
	hash.Write([]byte(object.GetUID()))
	for _, part := range parts {
		hash.Write([]byte{0})
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

func parse(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil || len(entry.FieldsV1.GetRawBytes()) == 0 {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("parsing fields of manager %s: %w", entry.Manager, err)
	}
	return set, nil
}
