// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"slices"
	"strings"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/manifest"
)

// A user who may read a status may lack the permission to read Secrets. With a plain digest of a Secret's content, that
// user could check guesses, and guess weak values quickly. So recorded digests are keyed by the UIDs of the Secrets
// that the component refers to. UIDs are random, the same for all processes, and independent of the content; and
// reading the metadata of a Secret takes the permission to read the Secret. A user who sees a UID elsewhere knows it
// nevertheless: in events about the Secret, or in owner references to it.

// digest identifies what a component declares.
type digest struct {
	// Value is the recorded digest.
	Value string
	// Key is the key of the digest; nil if the component refers to no Secret.
	Key []byte
	// Former is another digest of the same declaration that may be recorded: the plain one, by a version without keys,
	// or one with another key, if a Secret was created again with the same content. Empty if there is none.
	Former string
	// plain is the digest without the key.
	plain string
}

// digestInput is the input of the digest: every change causes a new revision.
type digestInput struct {
	Generation int64 `json:"generation"`
	// Annotations are those that affect dependents.
	Annotations map[string]string `json:"annotations"`
	Spec        any               `json:"spec"`
	// References are the digests of the contents.
	References map[string]string `json:"references"`
	// Generator is the fingerprint of the generator.
	Generator string `json:"generator"`
}

// digestMemory has the last digests, with and without the key. The zero value is ready for use.
type digestMemory struct {
	plain, keyed string
}

// secretUIDs are the UIDs of Secrets, by the paths of the references.
type secretUIDs map[string]apitypes.UID

// key returns nil if there are none.
func (u secretUIDs) key() []byte {
	if len(u) == 0 {
		return nil
	}
	entries := make([]string, 0, len(u))
	for path, uid := range u {
		entries = append(entries, path+"="+string(uid))
	}
	slices.Sort(entries)
	sum := sha256.Sum256([]byte(strings.Join(entries, "\n")))
	return sum[:]
}

func newDigest(plain string, uids secretUIDs) digest {
	key := uids.key()
	d := digest{Value: manifest.Keyed(key, plain), Key: key, plain: plain}
	if d.Value != plain {
		d.Former = plain
	}
	return d
}

// recognize replaces a former digest of the same declaration, which must not cause a new revision, and remembers this
// one.
func (d *digest) recognize(memory *digestMemory, recorded ...*string) {
	if memory.plain == d.plain && memory.keyed != d.Value {
		d.Former = memory.keyed
	}
	for _, value := range recorded {
		if *value != "" && (*value == d.Former || *value == d.plain) {
			*value = d.Value
		}
	}
	memory.plain, memory.keyed = d.plain, d.Value
}
