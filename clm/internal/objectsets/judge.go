// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectsets

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// judge judges the objects of a set by its probes, and the objects that these own by the usual rules.
type judge struct {
	probes, others status.Judge
	declared       map[types.ObjectID]bool
}

var _ status.MetadataJudge = judge{}

func newJudge(probes, others status.Judge, items []*inventory.Item) judge {
	j := judge{probes: probes, others: others, declared: map[types.ObjectID]bool{}}
	for _, item := range items {
		j.declared[types.IDOf(item)] = true
	}
	return j
}

// Judge implements status.Judge.
func (j judge) Judge(object *unstructured.Unstructured) status.Result {
	if j.declared[types.IDOf(object)] {
		return j.probes.Judge(object)
	}
	return j.others.Judge(object)
}

// Rules implements status.Judge.
func (j judge) Rules() string { return j.probes.Rules() + "\n" + j.others.Rules() }

// JudgesMetadata implements status.MetadataJudge: the content of ConfigMaps and the like is read if a probe may look at
// it.
func (j judge) JudgesMetadata(kind schema.GroupKind) bool {
	metadata, ok := j.probes.(status.MetadataJudge)
	return ok && metadata.JudgesMetadata(kind)
}
