// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"encoding/xml"
	"slices"
	"strings"
)

// ordinarySections are the elements that are not reported: elements that are read, elements for several virtual
// machines or their resource pool, and texts.
var ordinarySections = []string{
	"References", "DiskSection", "NetworkSection", "DeploymentOptionSection", "Strings", "Info", "Name",
	"OperatingSystemSection", "VirtualHardwareSection", "ProductSection", "EulaSection", "AnnotationSection",
	"StartupSection", "ResourceAllocationSection",
}

type section struct {
	XMLName  xml.Name
	Required string `xml:"required,attr"`
}

type content struct {
	Sections []section `xml:",any"`
}

// unreadSections returns the names of a descriptor's required sections that have no effect. A section is required
// unless its attribute ovf:required is false (DSP0243). govmomi omits sections that it does not know.
func unreadSections(descriptor []byte) []string {
	var envelope struct {
		content
		System     content `xml:"VirtualSystem"`
		Collection struct {
			content
			System content `xml:"VirtualSystem"`
		} `xml:"VirtualSystemCollection"`
	}
	if err := xml.Unmarshal(descriptor, &envelope); err != nil {
		return nil // govmomi has parsed it, but accepts more than encoding/xml.
	}
	var names []string
	for _, s := range slices.Concat(envelope.Sections, envelope.System.Sections, envelope.Collection.Sections, envelope.Collection.System.Sections) {
		optional := strings.EqualFold(s.Required, "false") || s.Required == "0"
		if !optional && !slices.Contains(ordinarySections, s.XMLName.Local) {
			names = append(names, s.XMLName.Local)
		}
	}
	return names
}
