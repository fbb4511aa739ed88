// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

// +kubebuilder:object:generate=true

// Record is an inventory in another form than that of a list: compressed, or in ConfigMaps, its chunks.
type Record struct {
	// Inline means that status.inventory counts, and not this record. Chunks may exist that are about to be used, or to be removed.
	Inline bool `json:"inline,omitempty"`
	// Content is the inventory as a JSON list, compressed with gzip; empty if it is stored in chunks.
	Content []byte `json:"content,omitempty"`
	// Namespace of the chunks.
	Namespace string `json:"namespace,omitempty"`
	// PreviousNamespace is where chunks were stored before, and may still exist.
	PreviousNamespace string `json:"previousNamespace,omitempty"`
	// Chunks are the names of ConfigMaps, each of which holds some items.
	// +listType=atomic
	Chunks []string `json:"chunks,omitempty"`
	// Checksum is the SHA-256 of the decompressed content, or of those of all chunks in their order, in hexadecimal.
	Checksum string `json:"checksum,omitempty"`
	// Items is the number of items.
	Items int `json:"items,omitempty"`
	// Kinds are the types of all items.
	// +listType=atomic
	Kinds []TypeVersionInfo `json:"kinds,omitempty"`
	// Completed lists up to 100 dependents that were purged, because they could not be found again if chunks were lost.
	// +listType=atomic
	Completed []CompletedDependent `json:"completed,omitempty"`
	// Unlisted are kinds that could not be listed when the inventory was rebuilt: there may be unknown dependents of these kinds.
	// +listType=atomic
	Unlisted []UnlistedKind `json:"unlisted,omitempty"`
}

// +kubebuilder:object:generate=true

// UnlistedKind is a kind, or all kinds of a group, of which it is not known which objects there are.
type UnlistedKind struct {
	// API group; empty for the core group.
	// +optional
	Group string `json:"group"`
	// API kind, or "*".
	// +optional
	Kind string `json:"kind"`
}

// +kubebuilder:object:generate=true

// CompletedDependent is a dependent that was purged.
type CompletedDependent struct {
	TypeVersionInfo `json:",inline"`
	NameInfo        `json:",inline"`
	// Digest of the manifest that was applied.
	// +optional
	Digest string `json:"digest"`
}
