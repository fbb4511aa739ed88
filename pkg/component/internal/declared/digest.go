// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"crypto/sha256"
	"slices"
	"strings"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/digest"
)

// Whoever may read a status need not be allowed to read Secrets. A plain digest over the content of a Secret tells whether a
// guess is right, and weak values are guessed fast. So what is recorded is keyed by the UIDs of the Secrets to which the
// component refers. They are random, the same for all processes, and do not change with the content; and reading the
// metadata of a Secret takes the permission to read the Secret. They would be known to somebody who sees them elsewhere: in events about the
// Secret, or in references to it as an owner.

// Digest identifies what a component declares.
type Digest struct {
	// Value is what is recorded.
	Value string
	// Key is what it was made with; nil if the component refers to no Secret.
	Key []byte
	// Former is another digest of the same declaration that may be recorded: the plain one, by a version that had no key, or
	// one with another key, if a Secret was created anew with the same content. Empty if there is none.
	Former string
	// plain is the digest of what is declared, without the key.
	plain string
}

// Memory has the digests of what was declared last, without and with the key. The zero value is ready for use.
type Memory struct {
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

func newDigest(plain string, uids secretUIDs) Digest {
	key := uids.key()
	d := Digest{Value: digest.Keyed(key, plain), Key: key, plain: plain}
	if d.Value != plain {
		d.Former = plain
	}
	return d
}

// Recognize replaces former digests of the same declaration, and remembers this one: it is no new revision.
func (d *Digest) Recognize(memory *Memory, recorded ...*string) {
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
