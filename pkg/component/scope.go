// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/component/internal/statusdiff"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// scope is what the phases of one pass share.
type scope struct {
	key       apitypes.NamespacedName
	ownerID   string
	component Component
	// status is that of the component.
	status *Status
	memory *memory
	log    logr.Logger
	// engaged means that the engine was called about the dependents.
	engaged bool

	// version guards writes: the resource version that the pass is based on.
	version string
	// base is the status as it was written last, server what the server has of it.
	base, server map[string]any
	// before is the verdict with which the pass began.
	before verdict

	// tenure is the time during which this replica may work on the component.
	tenure *shards.Tenure

	settings settings
	deleting bool
	// digest identifies what is declared; empty while deleting.
	digest string
	// key is what the digest was made of.
	digestKey digestKey
	// missing names references that could not be loaded although the component is being deleted.
	missing []string
	// target is where dependents live; nil until it is connected.
	target *target
	// cluster is the one that has the dependents, as far as it is known; next the one that is to have them, if that is another one.
	cluster clusterIdentity
	next    *clusterIdentity
	// held is set if the target is that of an earlier pass, because what leads to it is lost.
	held bool
	// kubeConfigFrom names the object that holds the kubeconfig; empty if there is none, or if that is not known.
	kubeConfigFrom string
	// visit is the time that the pass spends with a remote cluster; nil before it begins. cut ends the pass.
	visit *visits.Visit
	cut   func(reason error)
	// lost says why the target cannot be connected, while the component is being deleted.
	lost error
	// record is what is known about the persisted inventory.
	record recording
	// orphaning is set if the component is being deleted and its dependents are to stay, without an owner.
	orphaning bool
	// abandoned is set if the dependents are left behind.
	abandoned bool
	// unsaved is set if the engine could not save the inventory.
	unsaved bool
	// result is what the engine returned last; nil if it was not called.
	result *reconciler.Result
}

// restore undoes what the server drops from each status that is written to it.
func (s *scope) restore() error {
	base, err := statusOf(s.component)
	if err != nil {
		return err
	}
	s.base, s.server = base, base
	if s.memory.sent == nil {
		return nil
	}
	if !statusdiff.Same(base, s.memory.received) {
		s.memory.sent, s.memory.received = nil, nil
		return nil
	}
	s.base = s.memory.sent
	return setStatus(s.component, s.memory.sent)
}

// isRemote reports whether dependents live in another cluster. It must be called after references were loaded.
func (s *scope) isRemote() bool {
	return len(identityOf(s.component, "").kubeConfig) > 0
}

// isElsewhere reports whether the dependents are in another cluster than the component, which is the one with the given UID. A kubeconfig may
// lead to the same one.
func (s *scope) isElsewhere(here string) bool {
	return s.isRemote() && s.cluster.uid != localCluster && s.cluster.uid != here
}

// wasRemote reports whether dependents are in another cluster, and are to live elsewhere.
func (s *scope) wasRemote() bool {
	return s.next != nil && s.cluster.uid != localCluster
}

func (s *scope) setFinalizers(finalizers []string, version string) {
	s.component.SetFinalizers(finalizers)
	s.component.SetResourceVersion(version)
	s.version = version
}

// metadataOnly returns an object that identifies the component and carries nothing else.
func (w *worker) metadataOnly(s *scope) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.gvk)
	object.SetNamespace(s.key.Namespace)
	object.SetName(s.key.Name)
	object.SetUID(s.memory.uid)
	return object
}
