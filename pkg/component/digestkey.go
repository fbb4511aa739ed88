// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"slices"
	"strings"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/digest"
)

// Whoever may read a status need not be allowed to read Secrets. A plain digest over the content of a Secret reports whether a
// guess is right, and weak values are guessed fast. So what is recorded is keyed by the UIDs of the Secrets to which the
// component refers. They are random, the same for all processes, and do not change with the content; and reading the
// metadata of a Secret takes the permission to read the Secret. They would be known to somebody who sees them elsewhere: in events about the
// Secret, or in references to it as an owner.

// digestKey holds what keys the digests of a component.
type digestKey struct {
	// secret is nil if the component refers to no Secret.
	secret []byte
	// plain is the digest of what is declared, without the key.
	plain string
	// former is another digest of the same declaration that may be recorded: the plain one, by a version that had no key, or
	// one with another key, if a Secret was created anew with the same content. Empty if there is none.
	former string
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

// takeDigest sets the digest of what is declared.
func (s *scope) takeDigest(plain string, uids secretUIDs) {
	s.digestKey = digestKey{secret: uids.key(), plain: plain}
	s.digest = digest.Keyed(s.digestKey.secret, plain)
	if s.digest != plain {
		s.digestKey.former = plain
	}
	if s.memory.plainDigest == plain && s.memory.keyedDigest != s.digest {
		s.digestKey.former = s.memory.keyedDigest
	}
}

// recognizeDigest replaces a former digest of what is declared in the status: it is no new revision.
func (s *scope) recognizeDigest() {
	for _, recorded := range []*string{&s.status.ProcessingDigest, &s.status.LastProcessingDigest} {
		if *recorded != "" && (*recorded == s.digestKey.former || *recorded == s.digestKey.plain) {
			*recorded = s.digest
		}
	}
	s.memory.plainDigest, s.memory.keyedDigest = s.digestKey.plain, s.digest
}
