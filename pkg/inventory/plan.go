// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
type Plan struct {
	// Changes has an entry for each wanted object, in the order in which they are applied, and then one for each that is no
	// longer wanted, in the order in which they are deleted.
	Changes []Change `json:"changes"`
	// Inventory is what Apply records before it writes anything; nil if it need not record anything by then. Whoever has recorded it already may
	// call Apply with it, and spares a write.
	Inventory []*Item `json:"-"`
}

// Change is what Apply would do about one object.
type Change struct {
	// Object is type and name.
	Object ObjectInfo `json:"object"`
	// Wave is the apply order of the object; if it is no longer wanted, its delete order.
	Wave int `json:"wave"`
	// Verb is what would be done first; empty if nothing would be. An object that is created and purged by the same Apply is
	// created.
	Verb Verb `json:"verb,omitempty"`
	// Recreate means that the object would be deleted for that, and created anew.
	Recreate bool `json:"recreate,omitempty"`
	// Reason is a text such as "the manifest changed"; empty if there is nothing to say about an object that stays as it is.
	Reason string `json:"reason,omitempty"`
	// Refusal says why Apply would fail with the object; empty if it would not.
	Refusal string `json:"refusal,omitempty"`
	// Foreign means that the object belongs to others, and that its adoption policy protects it. That is certain, while the API server
	// may accept what it rejects now after objects before it were applied.
	Foreign bool `json:"foreign,omitempty"`
	// Notes are what the API server would change in the object or warn about, as far as that was compared: unknown fields that are left out,
	// for example.
	Notes []string `json:"notes,omitempty"`
	// Local means that After was computed from the manifest and, if the request holds it, the definition of the type, because the
	// server cannot say it: it does not know the type as it will be, or the namespace, or has a webhook that knows no dry runs.
	Local bool `json:"local,omitempty"`
	// Before and After are the object as it is and as it would be stored, without the status and what the server and the
	// reconciler keep for themselves; nil if there is none. They are there only for what would be changed, if that was
	// compared.
	Before *unstructured.Unstructured `json:"-"`
	After  *unstructured.Unstructured `json:"-"`
	// Changed are the fields that others have changed or removed since the object was written; only if the drift was compared.
	Changed []FieldChange `json:"-"`
	// Digest identifies manifest and policies; empty if the object is no longer wanted.
	Digest string `json:"digest,omitempty"`
	// UID, Fingerprint and Baseline identify the state on which the change was decided; empty if there is no such object, or if it is
	// being deleted. See Item; of an object of which we own nothing, the fingerprint is that of its content.
	UID         apitypes.UID `json:"uid,omitempty"`
	Fingerprint string       `json:"fingerprint,omitempty"`
	Baseline    string       `json:"baseline,omitempty"`
}

// FieldChange is a field that others have changed or removed.
type FieldChange struct {
	// Path of the field, such as .spec.replicas; it stands for everything below it.
	Path string `json:"path"`
	// Manager is the field manager that owns the field now; empty if the field was removed, which leaves no trace.
	Manager string `json:"manager,omitempty"`
	// Time is when that manager was last active on the object; nil if that is not recorded.
	Time *metav1.Time `json:"time,omitempty"`
}
