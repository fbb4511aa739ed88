// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/status"
)

func isClaim(key objectKey) bool {
	return key.Group == "" && key.Kind == "PersistentVolumeClaim"
}

// awaitsConsumer tells whether a claim is not bound because its class waits until a Pod uses it. Such a claim
// does not hold its wave: the Pod may come in a later one. The answer is remembered for the claim that was seen, since a class cannot change it;
// a claim of the same name that others create later gets an answer of its own.
func (p *pass) awaitsConsumer(ctx context.Context, t *target, item *InventoryItem, seen apitypes.UID) (bool, error) {
	recalled := p.memory.of(p.owner.ID, t.key)
	if answer, ok := recalled.consumer[seen]; ok {
		return answer, nil
	}
	claim, err := p.get(ctx, item)
	if err != nil {
		return false, err
	}
	class := status.StorageClassOf(claim)
	if !status.IsPendingClaim(claim) || class == "" {
		return false, nil
	}
	storageClass := &storagev1.StorageClass{}
	if err := p.read(func() error { return p.client.Get(ctx, client.ObjectKey{Name: class}, storageClass) }); err != nil {
		if isNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading StorageClass %s of %s: %w", class, t.key, err)
	}
	mode := storageClass.VolumeBindingMode
	answer := mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
	recalled.consumer = map[apitypes.UID]bool{claim.GetUID(): answer}
	return answer, nil
}
