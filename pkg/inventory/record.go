// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

// +kubebuilder:object:generate=true

// Record is an inventory that is too large for a plain list in the status: compressed, or stored in ConfigMaps
// (chunks).
type Record struct {
	// Inline means that status.inventory has the inventory, and this record does not. Chunks may still exist: some are
	// about to be used, or to be removed.
	Inline bool `json:"inline,omitempty"`
	// Content is the list as JSON, compressed with gzip; empty if it is stored in chunks.
	Content []byte `json:"content,omitempty"`
	// Namespace of the chunks.
	Namespace string `json:"namespace,omitempty"`
	// Chunks are the names of ConfigMaps, each of which holds some items.
	// +listType=atomic
	Chunks []string `json:"chunks,omitempty"`
	// Checksum is the hexadecimal SHA-256 of the decompressed content, or of the decompressed contents of all chunks in
	// their order.
	Checksum string `json:"checksum,omitempty"`
	// Items is the number of items.
	Items int `json:"items,omitempty"`
	// Kinds are the types of all items.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Kinds []TypeVersionInfo `json:"kinds,omitempty"`
	// Completed lists up to 100 purged dependents. Their objects no longer exist, so the chunks could not be rebuilt
	// without this list.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Completed []CompletedDependent `json:"completed,omitempty"`
	// Unlisted are kinds that could not be listed when the inventory was rebuilt. There may be unrecorded dependents of
	// these kinds.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Unlisted []UnlistedKind `json:"unlisted,omitempty"`
}

// +kubebuilder:object:generate=true

// UnlistedKind is a kind, or all kinds of a group, that could not be listed.
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
