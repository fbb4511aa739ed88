// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(string, manifests.Generator, component.ReconcilerOptions) *component.Reconciler[*Site] = component.NewReconciler[*Site]
	_ func(*component.Reconciler[*Site], context.Context, ctrl.Request) (ctrl.Result, error)      = (*component.Reconciler[*Site]).Reconcile
	_ func(*component.Reconciler[*Site], ctrl.Manager) error                                      = (*component.Reconciler[*Site]).SetupWithManager
	_ func(*component.Reconciler[*Site], ctrl.Manager, *ctrl.Builder) error                       = (*component.Reconciler[*Site]).SetupWithManagerAndBuilder
	_ func(*component.Reconciler[*Site], string, string) error                                    = (*component.Reconciler[*Site]).Trigger
	_ func(*component.Reconciler[*Site], component.HookFunc[*Site]) *component.Reconciler[*Site]  = (*component.Reconciler[*Site]).WithPostReadHook
	_ func(*component.Reconciler[*Site], component.HookFunc[*Site]) *component.Reconciler[*Site]  = (*component.Reconciler[*Site]).WithPreReconcileHook
	_ func(*component.Reconciler[*Site], component.HookFunc[*Site]) *component.Reconciler[*Site]  = (*component.Reconciler[*Site]).WithPostReconcileHook
	_ func(*component.Reconciler[*Site], component.HookFunc[*Site]) *component.Reconciler[*Site]  = (*component.Reconciler[*Site]).WithPreDeleteHook
	_ func(*component.Reconciler[*Site], component.HookFunc[*Site]) *component.Reconciler[*Site]  = (*component.Reconciler[*Site]).WithPostDeleteHook
	_                                                                                             = component.NewClientFunc(func(clnt cluster.Client) (cluster.Client, error) { return clnt, nil })
	_                                                                                             = component.HookFunc[*Site](func(context.Context, client.Client, *Site) error { return nil })
	_ func(context.Context) component.Context                                                     = component.NewContext
	_ func(context.Context) (cluster.Client, error)                                               = component.ClientFromContext
	_ func(context.Context) (cluster.Client, error)                                               = component.LocalClientFromContext
	_ func(context.Context) (component.Component, error)                                          = component.ComponentFromContext
	_ func(context.Context) (int64, error)                                                        = component.ComponentRevisionFromContext
	_ func(context.Context) (string, error)                                                       = component.ComponentDigestFromContext
	_ func(context.Context) (string, error)                                                       = component.ComponentNameFromContext
	_ func(context.Context) (string, error)                                                       = component.ComponentNamespaceFromContext
	_ func(context.Context) (string, error)                                                       = component.ReconcilerNameFromContext
	_ func(*component.Status) (component.State, string, string)                                   = (*component.Status).GetState
	_ func(*component.Status, component.State, string, string)                                    = (*component.Status).SetState
	_ func(*component.Status) bool                                                                = (*component.Status).IsReady
	_ func(*component.ConfigMapKeyReference) string                                               = (*component.ConfigMapKeyReference).Value
	_ func(*component.ConfigMapReference) map[string]string                                       = (*component.ConfigMapReference).Data
	_ func(*component.SecretKeyReference) []byte                                                  = (*component.SecretKeyReference).Value
	_ func(*component.SecretReference) map[string][]byte                                          = (*component.SecretReference).Data
	_ func(*component.ClientSpec) []byte                                                          = (*component.ClientSpec).GetKubeConfig
	_ func(*component.ReapplySpec) time.Duration                                                  = (*component.ReapplySpec).GetReapplyInterval
	_ func(*component.TypeSpec) []reconciler.TypeInfo                                             = (*component.TypeSpec).GetAdditionalManagedTypes
)

var _ = component.Spec{Namespace: "", Name: ""}

var _ = []component.State{component.StateReady, component.StatePending, component.StateProcessing, component.StateDeletionPending, component.StateDeleting, component.StateError}

var _ = []component.ConditionStatus{component.ConditionTrue, component.ConditionFalse, component.ConditionUnknown}

var _ = component.ReconcilerOptions{
	FieldOwner:              (*string)(nil),
	Finalizer:               (*string)(nil),
	DefaultServiceAccount:   (*string)(nil),
	AdoptionPolicy:          (*reconciler.AdoptionPolicy)(nil),
	UpdatePolicy:            (*reconciler.UpdatePolicy)(nil),
	DeletePolicy:            (*reconciler.DeletePolicy)(nil),
	MissingNamespacesPolicy: (*reconciler.MissingNamespacesPolicy)(nil),
	ReapplyInterval:         (*time.Duration)(nil),
	SchemeBuilder:           types.SchemeBuilder(nil),
	NewClient:               component.NewClientFunc(nil),
}

func TestJSONOfTheStatus(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	status := component.Status{
		ObservedGeneration: 1, AppliedGeneration: 2, LastObservedAt: &at, LastAppliedAt: &at, ProcessingDigest: "a", ProcessingSince: &at,
		LastProcessingDigest: "b", Revision: 3, State: component.StateReady,
		Conditions: []component.Condition{{Type: "Ready", Status: "True", LastTransitionTime: &at, Reason: "Ready", Message: "ok"}},
		Inventory:  []*reconciler.InventoryItem{},
	}
	got, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"observedGeneration":1,"appliedGeneration":2,"lastObservedAt":"2026-01-02T03:04:05Z","lastAppliedAt":"2026-01-02T03:04:05Z",` +
		`"processingDigest":"a","processingSince":"2026-01-02T03:04:05Z","lastProcessingDigest":"b","revision":3,` +
		`"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Ready","message":"ok"}],"state":"Ready"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if empty, _ := json.Marshal(component.Status{}); string(empty) != `{"observedGeneration":0}` {
		t.Errorf("JSON of an empty status: %s", empty)
	}
}
