// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

func isClaim(key types.ObjectID) bool { return key.Group == "" && key.Kind == "PersistentVolumeClaim" }

// unlessAwaited makes the outcome for a claim ready if the claim waits for a Pod.
func (l *live) unlessAwaited(ctx context.Context, t *prepare.Object, o outcome, uid apitypes.UID) (outcome, error) {
	if o.ready || !isClaim(t.Key) || o.item.Status != status.InProgressStatus {
		return o, nil
	}
	var err error
	o.ready, err = l.awaitsConsumer(ctx, t, o.item, uid)
	return o, err
}

// awaitsConsumer reports whether a claim is not bound because its StorageClass waits until a Pod uses it. Such a claim
// does not hold up its wave, since the Pod may come in a later one. The answer is remembered by the claim's UID,
// because the class of a claim cannot change.
func (l *live) awaitsConsumer(ctx context.Context, t *prepare.Object, item *inventory.Item, seen apitypes.UID) (bool, error) {
	recalled := l.call.Memory.Of(t.Key)
	if answer, ok := recalled.Consumer[seen]; ok {
		return answer, nil
	}
	claim, err := l.call.Server.Get(ctx, item)
	if err != nil {
		return false, err
	}
	class := status.StorageClassOf(claim)
	if !status.IsPendingClaim(claim) || class == "" {
		return false, nil
	}
	storageClass := &storagev1.StorageClass{}
	if err := l.call.Server.Read(func() error { return l.call.Server.Client.Get(ctx, client.ObjectKey{Name: class}, storageClass) }); err != nil {
		if execute.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading StorageClass %s of %s: %w", class, t.Key, err)
	}
	mode := storageClass.VolumeBindingMode
	answer := mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
	recalled.Consumer = map[apitypes.UID]bool{claim.GetUID(): answer}
	return answer, nil
}
