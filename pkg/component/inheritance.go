// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import ()

// The predecessor of this SDK computes digests of components in another way, so its digests and ours cannot be compared. That alone must not cause a
// new revision, which would run the upgrade hooks of charts again.

// inheritance is what happens to the status of a component that the predecessor has processed.
type inheritance struct{ pass *pass }

// isAwaited reports whether status.observedGeneration must stay as the predecessor has recorded it, because settle still depends on it.
func (p inheritance) isAwaited() bool {
	return p.pass.record.Inherited && !p.pass.deleting && !p.pass.settings.suspended
}

// settle keeps the revision of a component that the predecessor has processed, if the component has not changed since. What has changed in
// references, or in the generator, is applied without a new revision.
func (p inheritance) settle() {
	if !p.pass.record.Inherited {
		return
	}
	p.pass.record.Inherited = false
	status := p.pass.status
	isProcessed := status.LastProcessingDigest == status.ProcessingDigest || status.LastProcessingDigest == "" && status.LastAppliedAt != nil
	if isProcessed && status.ObservedGeneration == p.pass.component.GetGeneration() {
		status.ProcessingDigest = p.pass.declared.Digest.Value
		status.LastProcessingDigest = p.pass.declared.Digest.Value
	}
	if p.pass.record.IsKept() {
		status.ObservedGeneration = p.pass.component.GetGeneration()
	}
}
