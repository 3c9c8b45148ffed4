"""Decoders that choose whole label sets: best closed sets on trees and DAGs, under rules, and by search."""
