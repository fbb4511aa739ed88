// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/status"
)

// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
type Plan struct {
	// Changes has an entry for each wanted object, in apply order, followed by one for each redundant dependent, in
	// delete order.
	Changes []Change `json:"changes"`
	// Inventory is what Apply would save before its first write; nil if it would not. A caller that has already saved
	// it may pass it to Apply, which then need not save it.
	Inventory []*Item `json:"-"`
	// Held are redundant dependents that Apply would not delete, because there are more than the request allows, or
	// because of PrunePolicyConfirm; nil if there are none. Their changes have no verb.
	Held *HeldDeletions `json:"held,omitempty"`
	// Namespaces are the missing namespaces that Apply would create although no wanted object declares them; sorted.
	// Only plans that compare find them.
	Namespaces []string `json:"namespaces,omitempty"`
}

// UnknownFieldsNote is how notes begin that name fields that the API server does not know, and that are left out.
const UnknownFieldsNote = "unknown fields were left out: "

// ReasonNotInManifests begins the reason of the change of an object that the inventory has and the manifests do not
// have any more.
const ReasonNotInManifests = "is no longer in the manifests"

// Change is what Apply would do about one object.
type Change struct {
	// Object is type and name.
	Object ObjectInfo `json:"object"`
	// Wave is the apply order of the object, or the delete order of a redundant dependent.
	Wave int `json:"wave"`
	// Verb is the first thing that would be done; empty if nothing would be. For an object that the same Apply creates
	// and purges, it is VerbCreated.
	Verb Verb `json:"verb,omitempty"`
	// Recreate means that the object would be deleted and created again.
	Recreate bool `json:"recreate,omitempty"`
	// Repeats means that the object would be applied again because its owner has changed
	// (ReconcilePolicyOnObjectOrComponentChange), and that its manifest is the recorded one: a hook that stays the
	// same.
	Repeats bool `json:"repeats,omitempty"`
	// Stays means that the object is redundant, and would not be deleted: it is kept, or its deletion is held. Then
	// there is no Verb.
	Stays bool `json:"stays,omitempty"`
	// Holder is the ID of the newer owner that has the object, or had it when it vanished; empty if there is none. Then
	// there is no Verb.
	Holder string `json:"holder,omitempty"`
	// Reason is a text such as "the manifest changed"; it may be empty if the object would not change.
	Reason string `json:"reason,omitempty"`
	// Refusal says why Apply would fail because of this object; empty if it would not.
	Refusal string `json:"refusal,omitempty"`
	// Foreign means that the object belongs to another owner, and that its adoption policy protects it. Such a refusal
	// is final; others may not be, because the API server may accept the object once earlier objects were applied.
	Foreign bool `json:"foreign,omitempty"`
	// Notes are warnings of the API server and what it would change in the object, such as unknown fields that it
	// drops; only if compared.
	Notes []string `json:"notes,omitempty"`
	// Local means that After was computed from the manifest (and the definition of the type, if the request has it),
	// because a dry run was not possible: the server does not know the type as it will be, or the namespace, or a
	// webhook does not support dry runs.
	Local bool `json:"local,omitempty"`
	// Before and After are the object as it is and as it would be stored, without the status and the metadata that the
	// server and the reconciler maintain; nil if it does not exist. Set only if compared, and for objects that would
	// change.
	Before *unstructured.Unstructured `json:"-"`
	After  *unstructured.Unstructured `json:"-"`
	// Changed are the fields that others have changed or removed since the last write; only if drift was compared.
	Changed []FieldChange `json:"-"`
	// Conflicts are the fields that the change would take from other field managers, because it declares other values;
	// only if compared.
	Conflicts []FieldChange `json:"-"`
	// Status is what is observed of the object; empty if it does not exist, or if that does not matter. Message
	// explains it.
	Status  status.Status `json:"-"`
	Message string        `json:"-"`
	// Digest identifies manifest and policies; empty if the object is no longer in the manifests.
	Digest string `json:"digest,omitempty"`
	// UID, Fingerprint and Baseline identify the state that the change was planned for (see Item); empty if the object
	// does not exist or is being deleted. If we own nothing in the object, the fingerprint is that of its content.
	UID         apitypes.UID `json:"uid,omitempty"`
	Fingerprint string       `json:"fingerprint,omitempty"`
	Baseline    string       `json:"baseline,omitempty"`
}

// FieldChange is a field that others have changed or removed, or that they own.
type FieldChange struct {
	// Path of the field, such as .spec.replicas. It includes everything below the field. Values of items of sets are
	// replaced by asterisks if they may be secret.
	Path string `json:"path"`
	// Manager is the field manager that owns the field now; empty if the field was removed, since nothing records who
	// did that.
	Manager string `json:"manager,omitempty"`
	// Time of the last write of that manager to the object; nil if not recorded.
	Time *metav1.Time `json:"time,omitempty"`
	// Ignorable is the path as the annotation ignore-fields names it; empty if that cannot name the field. Only
	// Change.Conflicts have it.
	Ignorable string `json:"-"`
}
